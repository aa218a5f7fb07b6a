// PURE: merges two versions of a block word by word.
import { changesOf } from './changes'
import { type Block, idOf, meaning } from '../document/document'

/** A word, the characters between two words, or a node without text; in code a line. name: equal for equal tokens. */
interface Token {
  name: string
  nodes: Block[]
  isWord: boolean
}

const IN_WORDS = new Set(['paragraph', 'heading', 'detailsSummary'])
const IN_LINES = new Set(['codeBlock'])
const NODE = '\uFFFC' // stands for a node among letters

/**
 * The block with all changes of both sides and the id of *theirs*; null: a person has to decide.
 *
 * A person has to decide if changes of the two sides touch, if no unchanged word is between them, or if more than the
 * text of the block changed.
 */
export function together(base: Block, mine: Block, theirs: Block): Block | null {
  if (![base, mine, theirs].every((block) => isText(block) && about(block) === about(base))) return null
  const was = tokens(base)
  const changes = [...sideOf(was, tokens(mine), 'mine'), ...sideOf(was, tokens(theirs), 'theirs')]
  changes.sort((a, b) => a.from - b.from || a.to - b.to)
  const all: Token[] = []
  let at = 0
  for (const [index, change] of changes.entries()) {
    const between = was.slice(at, change.from)
    const isOthers = index > 0 && changes[index - 1]!.side !== change.side
    if (change.from < at || (isOthers && !between.some((token) => token.isWord))) return null
    all.push(...between, ...change.now)
    at = change.to
  }
  const content = joined([...all, ...was.slice(at)].flatMap((token) => token.nodes))
  const id = idOf(theirs) ?? idOf(mine)
  return { ...mine, attrs: { ...mine.attrs, id }, content }
}

const isText = ({ type }: Block) => IN_WORDS.has(type) || IN_LINES.has(type)
const about = ({ content: _, ...block }: Block) => meaning(block)

const sideOf = (was: Token[], now: Token[], side: 'mine' | 'theirs') =>
  changesOf(was, now).map((change) => ({ ...change, side }))

function tokens(block: Block): Token[] {
  const content = block.content ?? []
  const text = content.map((node) => node.text ?? NODE).join('')
  return parts(block, text).map(([from, to, isWord]) => {
    const nodes = cut(content, from, to)
    return { name: JSON.stringify(nodes), nodes, isWord: isWord || text.slice(from, to) === NODE }
  })
}

const WORDS = new Intl.Segmenter('en', { granularity: 'word' })

/** Begin and end of each token in *text*, and whether it is a word. */
function parts(block: Block, text: string): [number, number, boolean][] {
  if (IN_WORDS.has(block.type))
    return [...WORDS.segment(text)].map(({ index, segment, isWordLike }) => [index, index + segment.length, !!isWordLike])
  return [...text.matchAll(/[^\n]*\n|[^\n]+$/g)].map(({ index, 0: line }) => [index, index + line.length, line.trim() !== ''])
}

function cut(content: Block[], from: number, to: number): Block[] {
  const found: Block[] = []
  let at = 0
  for (const node of content) {
    const end = at + (node.text?.length ?? 1)
    if (end > from && at < to)
      found.push(node.text === undefined ? node : { ...node, text: node.text.slice(Math.max(0, from - at), to - at) })
    at = end
  }
  return found
}

/** Joins neighbouring texts with equal marks. */
function joined(nodes: Block[]): Block[] {
  const found: Block[] = []
  for (const node of nodes) {
    const last = found.at(-1)
    if (last?.text !== undefined && node.text !== undefined && JSON.stringify(last.marks) === JSON.stringify(node.marks))
      found[found.length - 1] = { ...last, text: last.text + node.text }
    else found.push(node)
  }
  return found
}
