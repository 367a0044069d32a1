"""Who is asked: one table of adapters, each imported only when it is used.

To add a kind of model: write an adapter in a file of its own, then name it below. To use your own
model there is no need to: `--model my_package.my_module:MyModel`.
"""

from otoscope.registry import Registry

MODELS: Registry[str] = Registry(
    "kind of model",
    {
        "observer": "otoscope.models.simple:open_observer",
        "fitted": "otoscope.models.fitted_observer:open_fitted",
        "constant": "otoscope.models.simple:open_constant",
        "random": "otoscope.models.simple:open_random",
        "human": "otoscope.models.replay:open_human",
        "replay": "otoscope.models.replay:open_replay",
        "transformers": "otoscope.models.transformers_models:open_transformers",
        "openai": "otoscope.models.openai_server:open_openai",
    },
)
"""Kind to `module:function`; a function takes `(name, revision, **options)`, returns a model."""
