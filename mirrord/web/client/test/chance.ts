// Random documents and edits, reproducible by a seed.
import { type Block, idOf } from '../src/document/document'

/** A paragraph. */
export const p = (id: string | null, text: string): Block => ({
  type: 'paragraph',
  attrs: { id },
  content: [{ type: 'text', text }],
})

/** Picks a number from 0 to below its argument. */
export function chance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1664525 + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Up to four edits: new blocks, other words, deletions, moves. who: the beginning of the ids of new blocks. */
export function edited(blocks: Block[], pick: (below: number) => number, who: string): Block[] {
  const result = [...blocks]
  for (let step = pick(5); step > 0; step--) {
    const at = pick(result.length + 1)
    const kind = pick(4)
    const name = `${who}${step}`
    if (kind === 0 || !result[at]) result.splice(at, 0, p(name, `new ${name} ${pick(3)}`))
    else if (kind === 1) result[at] = p(idOf(result[at]), `edit ${name}`)
    else if (kind === 2) result.splice(at, 1)
    else result.splice(pick(result.length), 0, ...result.splice(at, 1))
  }
  return result
}
