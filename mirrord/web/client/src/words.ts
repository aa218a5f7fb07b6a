// PURE: the words of one block into one block, where each side changed other words of it.
import { type Block, idOf, meaning } from './document'

/** A word, what stands between two, or a node that is no text; in code a line. name: equal for those that are alike. */
interface Token {
  name: string
  nodes: Block[]
  isWord: boolean
}

const IN_WORDS = new Set(['paragraph', 'heading', 'detailsSummary'])
const IN_LINES = new Set(['codeBlock'])
const NODE = '\uFFFC' // stands for a node among letters

/**
 * A block with both changes, named as *theirs*; null: only a person can tell what it is to be.
 *
 * That is so where the changes touch, where no word stands between them that neither changed, and where more than the
 * text of the block changed.
 */
export function together(base: Block, mine: Block, theirs: Block): Block | null {
  if (![base, mine, theirs].every((block) => isText(block) && about(block) === about(base))) return null
  const [was, one, other] = [tokens(base), tokens(mine), tokens(theirs)]
  const changes = [changeOf(was, one), changeOf(was, other)].sort((a, b) => a.from - b.from || a.to - b.to)
  const [first, last] = changes as [Change, Change]
  if (!was.slice(first.to, Math.max(first.to, last.from)).some((token) => token.isWord)) return null
  const all = [...was.slice(0, first.from), ...first.now, ...was.slice(first.to, last.from), ...last.now]
  const content = joined([...all, ...was.slice(last.to)].flatMap((token) => token.nodes))
  const id = idOf(theirs) ?? idOf(mine)
  return { ...mine, attrs: { ...mine.attrs, id }, content }
}

const isText = ({ type }: Block) => IN_WORDS.has(type) || IN_LINES.has(type)
const about = ({ content: _, ...block }: Block) => meaning(block)

/** The tokens from one number to another became others. */
interface Change {
  from: number
  to: number
  now: Token[]
}

/** All that may have changed: what was put beside its like may have been put before it or behind it. */
function changeOf(was: Token[], now: Token[]): Change {
  const least = Math.min(was.length, now.length)
  let [head, tail] = [0, 0]
  while (head < least && was[head]!.name === now[head]!.name) head++
  while (tail < least && was.at(-1 - tail)!.name === now.at(-1 - tail)!.name) tail++
  const from = Math.min(head, least - tail)
  const kept = Math.min(tail, least - head)
  return { from, to: was.length - kept, now: now.slice(from, now.length - kept) }
}

function tokens(block: Block): Token[] {
  const content = block.content ?? []
  const text = content.map((node) => node.text ?? NODE).join('')
  return parts(block, text).map(([from, to, isWord]) => {
    const nodes = cut(content, from, to)
    return { name: JSON.stringify(nodes), nodes, isWord: isWord || text.slice(from, to) === NODE }
  })
}

const WORDS = new Intl.Segmenter('en', { granularity: 'word' })

/** From where to where each token is in *text*, and whether it is a word. */
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

/** Texts that have the same marks are one. */
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
