// The elements that keep their order when a list is reordered.

/** Indexes of a longest rising subsequence of *numbers*: the other elements were moved. */
export function rising(numbers: number[]): number[] {
  const ends: number[] = [] // ends[n]: index of the smallest number that ends a run of n + 1
  const before: number[] = []
  numbers.forEach((number, index) => {
    const place = firstAtLeast(ends, numbers, number)
    before[index] = place > 0 ? ends[place - 1]! : -1
    ends[place] = index
  })
  const run: number[] = []
  for (let index = ends.at(-1) ?? -1; index >= 0; index = before[index]!) run.unshift(index)
  return run
}

function firstAtLeast(ends: number[], numbers: number[], number: number): number {
  let [low, high] = [0, ends.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (numbers[ends[middle]!]! < number) low = middle + 1
    else high = middle
  }
  return low
}
