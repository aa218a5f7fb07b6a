// PURE: the differences between two lists.

/** An element of a list. name: equal for equal elements. */
interface Named {
  name: string
}

/** The elements from index *from* to before *to* became *now*. */
export interface Change<T> {
  from: number
  to: number
  now: T[]
}

const MOST = 1_000_000 // compared pairs; in longer texts everything between the first and the last change is one change

/** The changes from *was* to *now*, in order. An element that may be one of two equal neighbours counts as changed. */
export function changesOf<T extends Named>(was: T[], now: T[]): Change<T>[] {
  const { from, to, now: inner } = around(was, now)
  const old = was.slice(from, to)
  if (old.length * inner.length > MOST) return [{ from, to, now: inner }]
  const found: Change<T>[] = []
  let [at, next] = [0, 0]
  for (const [one, other] of [...stayed(old, inner), [old.length, inner.length] as const]) {
    if (at < one || next < other) found.push({ from: from + at, to: from + one, now: inner.slice(next, other) })
    ;[at, next] = [one + 1, other + 1]
  }
  return found
}

/** The one change that contains all others. */
function around<T extends Named>(was: T[], now: T[]): Change<T> {
  const least = Math.min(was.length, now.length)
  let [head, tail] = [0, 0]
  while (head < least && was[head]!.name === now[head]!.name) head++
  while (tail < least && was.at(-1 - tail)!.name === now.at(-1 - tail)!.name) tail++
  const from = Math.min(head, least - tail)
  const kept = Math.min(tail, least - head)
  return { from, to: was.length - kept, now: now.slice(from, now.length - kept) }
}

/** Pairs of indexes of elements that are paired in every longest common subsequence. */
function stayed(was: Named[], now: Named[]): [number, number][] {
  const [before, behind] = [common(was, now), common(was.toReversed(), now.toReversed())]
  const most = before(was.length, now.length)
  const ranks = new Map<number, [number, number] | null>() // null: several pairs have this rank
  was.forEach(({ name }, one) =>
    now.forEach((other, index) => {
      const rank = before(one, index)
      if (name !== other.name || rank + 1 + behind(was.length - one - 1, now.length - index - 1) !== most) return
      ranks.set(rank, ranks.has(rank) ? null : [one, index])
    }),
  )
  return [...ranks.entries()].sort(([a], [b]) => a - b).flatMap(([, pair]) => (pair ? [pair] : []))
}

/** A function of two lengths: how many elements of these beginnings of both lists can be paired in order. */
function common(ones: Named[], others: Named[]): (first: number, second: number) => number {
  const width = others.length + 1
  const counts = new Uint32Array((ones.length + 1) * width)
  for (let one = 1; one <= ones.length; one++)
    for (let other = 1; other < width; other++) {
      const at = one * width + other
      counts[at] =
        ones[one - 1]!.name === others[other - 1]!.name
          ? counts[at - width - 1]! + 1
          : Math.max(counts[at - 1]!, counts[at - width]!)
    }
  return (first, second) => counts[first * width + second]!
}
