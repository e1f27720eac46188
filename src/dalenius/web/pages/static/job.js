"use strict";
// A job's page: progress by the clock, and the answer as soon as it has left.
const box = document.getElementById("job");
const bar = document.getElementById("progress"), where = document.getElementById("where");
let job = null, seen = 0;

function tick() {
  if (!job || job.state !== "running") return;
  const gone = (performance.now() - seen) / 1000, left = Math.max(0, job.seconds_left - gone);
  const whole = job.progress < 1 ? job.seconds_left / (1 - job.progress) : 1;
  bar.value = whole > 0 ? Math.min(1, 1 - left / whole) : 1;
}

async function follow() {
  for (;;) {
    try {
      const response = await fetch(`/api/v1/jobs/${encodeURIComponent(box.dataset.job)}?wait=${job ? 20 : 0}`);
      if (!response.ok) return location.reload();
      job = await response.json();
    } catch {
      await new Promise((done) => setTimeout(done, 2000));
      continue;
    }
    seen = performance.now();
    if (job.state !== "waiting" && job.state !== "running") return location.reload();
    where.textContent = job.state === "waiting" ? "It waits for its turn." : `It is under way. It may leave in ${Math.ceil(job.seconds_left)} s; what takes longer leaves at a later boundary.`;
  }
}

setInterval(tick, 200);
if (box.dataset.job) follow();
