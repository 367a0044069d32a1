// CLIPS: clip_id, onset, offset, drop, known, duration of each row; LIST: a hash of all of it.
const SHORTEST_S = 0.02;
const KEY = "otoscope-spans-" + LIST;
const rows = [...document.querySelectorAll(".row")];
const now = CLIPS.map(clip => ({onset: clip.onset, offset: clip.offset, drop: clip.drop, reviewed: false}));
const player = new Audio();
let current = 0, playing = null, savedCsv = toCsv(), canStore = true;

// ---- changes, and their CSV

function isChanged(i) {
  return ["onset", "offset", "drop"].some(key => now[i][key] !== CLIPS[i][key]);
}

function toCsv() {
  const quote = text => /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  const time = t => t === null ? "" : String(t);
  const lines = ["clip_id,onset_sec,offset_sec,drop"];
  now.forEach((state, i) => {
    if ((isChanged(i) || CLIPS[i].known) && (state.drop || state.onset !== null))
      lines.push([quote(CLIPS[i].clip_id), time(state.onset), time(state.offset), state.drop ? "yes" : ""].join(","));
  });
  return lines.join("\r\n") + "\r\n";
}

function save() {
  const csv = toCsv(), link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv], {type: "text/csv;charset=utf-8"}));
  link.download = "corrections.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  savedCsv = csv;
  remember();
  show();
  notify(`${csv.split("\r\n").length - 2} rows in corrections.csv`);
}

function notify(text) { document.getElementById("message").textContent = text; }

// ---- state that survives a reload

let waiting = null;
function remember() { waiting ??= setTimeout(store, 300); }

function store() {
  clearTimeout(waiting);
  waiting = null;
  try {
    localStorage.setItem(KEY, JSON.stringify({now, current, savedCsv}));
  } catch {
    if (canStore) notify("This browser stores nothing when the page is closed: save before you leave.");
    canStore = false;
  }
}
addEventListener("pagehide", () => { if (waiting) store(); });

function recall() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY));
    if (!stored || stored.now.length !== now.length) return;
    stored.now.forEach((state, i) => Object.assign(now[i], state));
    savedCsv = stored.savedCsv;
    current = Math.min(stored.current, rows.length - 1);
  } catch { /* nothing stored, or by another page */ }
}

addEventListener("beforeunload", event => {
  if (toCsv() !== savedCsv) event.preventDefault();
});

// ---- drawing

function draw(i) {
  const row = rows[i], state = now[i], {duration} = CLIPS[i];
  row.classList.toggle("current", i === current);
  row.classList.toggle("reviewed", state.reviewed);
  row.classList.toggle("changed", isChanged(i));
  row.classList.toggle("dropped", state.drop);
  row.querySelector(".drop").checked = state.drop;
  row.querySelector(".undo").hidden = !isChanged(i);
  if (duration === null) return;
  const none = state.onset === null;
  for (const end of ["onset", "offset"]) {
    const handle = row.querySelector(".handle." + end);
    handle.hidden = none;
    row.querySelector("input." + end).value = none ? "" : state[end].toFixed(3);
    if (none) continue;
    handle.style.left = 100 * state[end] / duration + "%";
    handle.setAttribute("aria-valuenow", state[end]);
    handle.setAttribute("aria-valuetext", state[end].toFixed(3) + " seconds");
  }
  const band = row.querySelector(".band");
  band.hidden = none;
  band.style.left = none ? 0 : 100 * state.onset / duration + "%";
  band.style.width = none ? 0 : 100 * (state.offset - state.onset) / duration + "%";
}

function show() {
  const reviewed = now.filter(state => state.reviewed).length;
  const changed = now.filter((_, i) => isChanged(i)).length;
  const unsaved = toCsv() === savedCsv ? "" : ", not saved";
  document.getElementById("progress").value = reviewed;
  document.getElementById("count").textContent = `${reviewed} of ${rows.length} reviewed, ${changed} changed${unsaved}`;
}

function update(i) { draw(i); show(); remember(); }

const filter = document.getElementById("filter");
function applyFilter() {
  const tests = {
    all: () => true,
    doubt: i => rows[i].dataset.state !== "fine",
    new: i => !now[i].reviewed,
    changed: i => isChanged(i),
  };
  rows.forEach((row, i) => { row.hidden = !tests[filter.value](i); });
  if (rows[current]?.hidden) {
    const first = rows.findIndex(row => !row.hidden);
    if (first >= 0) select(first);
  }
}
filter.addEventListener("change", () => { applyFilter(); filter.blur(); });

// ---- changing

// One end of a span goes to a time; it stays inside the clip and on its side of the other end.
function move(i, end, time) {
  const state = now[i], {duration} = CLIPS[i];
  if (!Number.isFinite(time)) return draw(i);
  time = Math.round(time * 1000) / 1000;
  if (state.onset === null) { state.onset = 0; state.offset = duration; }
  if (end === "onset") state.onset = Math.max(0, Math.min(time, state.offset - SHORTEST_S));
  else state.offset = Math.min(duration, Math.max(time, state.onset + SHORTEST_S));
  state[end] = Math.round(state[end] * 1e6) / 1e6;
  notify(state[end] === time ? "" : `The ${end} can only go to ${state[end].toFixed(3)} s.`);
  state.reviewed = true;
  update(i);
}

function drop(i, yes) { Object.assign(now[i], {drop: yes, reviewed: true}); update(i); }

function undo(i) {
  const {onset, offset, drop} = CLIPS[i];
  Object.assign(now[i], {onset, offset, drop});
  update(i);
}

function select(i, {scroll = true} = {}) {
  const before = current;
  current = i;
  draw(before);
  draw(i);
  if (scroll) rows[i].scrollIntoView({block: "nearest"});
}

// Leaving a row by key counts as a review.
function step(by) {
  if (!rows.length) return;
  now[current].reviewed = true;
  update(current);
  let i = current + by;
  while (rows[i]?.hidden) i += by;
  if (rows[i]) select(i);
  else notify(by > 0 ? "That was the last one." : "This is the first one.");
}

// ---- playing

function play(i, entire) {
  const row = rows[i], state = now[i];
  if (!row.dataset.audio) return;
  const stopped = playing && playing.i === i && playing.entire === entire && !player.paused;
  stop();
  if (stopped) return;
  const from = entire || state.onset === null ? 0 : state.onset;
  playing = {i, entire};
  if (player.src !== row.dataset.audio) player.src = row.dataset.audio;
  player.currentTime = from;
  player.play().then(follow, () => notify("This browser cannot play the audio."));
  state.reviewed = true;
  update(i);
}

function stop() {
  player.pause();
  if (playing) rows[playing.i].querySelector(".head").hidden = true;
  playing = null;
}

function follow() {
  if (!playing) return;
  const {i, entire} = playing, head = rows[i].querySelector(".head");
  if (player.ended || (!entire && now[i].offset !== null && player.currentTime >= now[i].offset)) return stop();
  head.hidden = false;
  head.style.left = 100 * player.currentTime / CLIPS[i].duration + "%";
  requestAnimationFrame(follow);
}

// ---- input

rows.forEach((row, i) => {
  row.addEventListener("pointerdown", () => { if (i !== current) select(i, {scroll: false}); });
  row.addEventListener("focusin", () => { if (i !== current) select(i, {scroll: false}); });
  row.querySelector(".drop").addEventListener("change", event => drop(i, event.target.checked));
  row.querySelector(".undo").addEventListener("click", () => undo(i));
  row.querySelector(".play")?.addEventListener("click", () => play(i, false));
  row.querySelector(".whole")?.addEventListener("click", () => play(i, true));
  for (const end of ["onset", "offset"]) {
    row.querySelector("input." + end)?.addEventListener("change", event => move(i, end, event.target.valueAsNumber));
    row.querySelector(".handle." + end)?.addEventListener("keydown", event => {
      const by = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1}[event.key];
      if (!by) return;
      event.preventDefault();
      move(i, end, now[i][end] + by * (event.shiftKey ? 0.1 : 0.01));
    });
  }
  const wave = row.querySelector(".wave");
  if (!wave) return;
  const timeAt = event => {
    const box = wave.getBoundingClientRect();
    return CLIPS[i].duration * Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  let dragged = null;
  wave.addEventListener("pointerdown", event => {
    if (event.button !== 0) return;
    const state = now[i], time = timeAt(event);
    if (state.onset === null) {
      state.onset = Math.max(0, Math.floor(1000 * Math.min(time, CLIPS[i].duration - SHORTEST_S)) / 1000);
      state.offset = state.onset + SHORTEST_S;
      dragged = "offset";
    } else dragged = Math.abs(time - state.onset) <= Math.abs(time - state.offset) ? "onset" : "offset";
    wave.setPointerCapture(event.pointerId);
    move(i, dragged, time);
  });
  wave.addEventListener("pointermove", event => { if (dragged) move(i, dragged, timeAt(event)); });
  for (const end of ["pointerup", "pointercancel"]) wave.addEventListener(end, () => { dragged = null; });
});

addEventListener("keydown", event => {
  const {target, key} = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input[type=number], select, textarea")) return;
  if (key === " " && target.matches("button, input")) return; // its own press
  const actions = {
    j: () => step(1), k: () => step(-1), " ": () => play(current, event.shiftKey),
    d: () => drop(current, !now[current].drop), u: () => undo(current),
  };
  if (!actions[key] || !rows.length) return;
  event.preventDefault();
  actions[key]();
});

document.getElementById("save").addEventListener("click", save);
recall();
rows.forEach((_, i) => draw(i));
show();
if (rows.length && current) rows[current].scrollIntoView({block: "center"});
