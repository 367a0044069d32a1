"""Models that an audit can evaluate: one table of adapters, imported when they are used.

A new kind of model is an adapter in a file of its own and an entry below. Your own model needs
neither: `--model my_package.my_module:MyModel`.
"""

from otoscope.registry import Registry

MODELS: Registry[str] = Registry(
    "kind of model",
    {
        "observer": "otoscope.models.simple:open_observer",
        "fitted": "otoscope.models.fitted_observer:open_fitted",
        "constant": "otoscope.models.simple:open_constant",
        "random": "otoscope.models.simple:open_random",
        "simulated": "otoscope.models.simulated:open_simulated",
        "human": "otoscope.models.replay:open_human",
        "replay": "otoscope.models.replay:open_replay",
        "encoder": "otoscope.representations.encoder_model:open_encoder_model",
        "transformers": "otoscope.models.transformers_models:open_transformers",
        "openai": "otoscope.models.openai_server:open_openai",
    },
)
"""Kind to `module:function`; a function takes `(name, revision, **options)`, returns a model."""
