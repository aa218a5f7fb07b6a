/** A textarea knows one kind of line ending; files have several. */

const LINE = /([^\r\n]*)(\r\n|\r|\n|$)/gy;

function lines(text) {
  const found = [];
  LINE.lastIndex = 0;
  for (let match = LINE.exec(text); match; match = LINE.exec(text)) {
    found.push({ text: match[1], ending: match[2] });
    if (match[2] === "") break;
  }
  return found;
}

/** `edited`, whose lines end in \n, with the endings of `original` where lines are the same, else with its first one. */
export function restored(original, edited) {
  const old = lines(original);
  const fresh = edited.split("\n");
  const usual = old[0].ending || "\n";
  const most = Math.min(old.length, fresh.length);
  let front = 0;
  while (front < most && old[front].text === fresh[front]) front += 1;
  let back = 0;
  while (back < most - front && old[old.length - 1 - back].text === fresh[fresh.length - 1 - back]) back += 1;
  return fresh
    .map((line, number) => {
      if (number === fresh.length - 1) return line;
      const same = number < front ? old[number] : number >= fresh.length - back ? old[old.length - fresh.length + number] : null;
      return line + ((same && same.ending) || usual);
    })
    .join("");
}
