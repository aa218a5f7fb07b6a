// PURE: what a window keeps of unsaved text, as one text: an open document, and the page that it was made from.
import { type Block, jsonOf } from '../document/document'

/** mine: the open document. clashes: by the id of a block of mine, the page's version of the block. */
export interface Unsettled {
  mine: Block[]
  clashes: Record<string, Block>
}

/** The value of `keep`: an open document and its base. */
export interface Kept extends Unsettled {
  version: number
  base: Block[]
}

/** A block of mine that is one of the base is written as its number there: of a long page few blocks are others. */
type Written = Omit<Kept, 'mine'> & { mine: (Block | number)[] }

const jsonOfBases = new WeakMap<Block[], string>()

/** The text of it. The work grows with the changed blocks: the JSON of the others is known. */
export function keptText({ version, base, mine, clashes }: Kept): string {
  const numbers = new Map(base.map((block, number) => [block, number]))
  const blocks = mine.map((block) => numbers.get(block) ?? jsonOf(block))
  return `{"version":${version},"base":${jsonOfBase(base)},"mine":[${blocks.join()}],"clashes":${JSON.stringify(clashes)}}`
}

function jsonOfBase(base: Block[]): string {
  let text = jsonOfBases.get(base)
  if (text === undefined) {
    text = `[${base.map(jsonOf).join()}]`
    jsonOfBases.set(base, text)
  }
  return text
}

/** What such a text says, also one of an earlier version, which has all blocks. */
export function keptOf(text: string): Kept {
  const written = JSON.parse(text) as Written
  return { ...written, mine: written.mine.map((block) => (typeof block === 'number' ? written.base[block]! : block)) }
}
