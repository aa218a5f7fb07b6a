// PURE: the blocks of a table cell as one paragraph with line breaks, which is all that a cell of Markdown holds.
import { Fragment, type Node, type Schema } from '@tiptap/pm/model'

/** A line of a cell: its content, and where its text began in the cell. */
interface Line {
  nodes: Node[]
  from: number
  size: number
}

/** A cell as one paragraph; lines: where the text of each began in the cell (from), and begins in the paragraph (to). */
export interface Flat {
  paragraph: Node
  lines: { from: number; size: number; to: number }[]
}

/** Whether a cell is one paragraph of one or more lines. */
export function isFlat(cell: Node): boolean {
  const first = cell.firstChild
  return cell.childCount === 1 && first!.type.name === 'paragraph' && !first!.textContent.includes('\n')
}

/** A cell as one paragraph; null: it holds a block that has no text. */
export function flatOf(cell: Node): Flat | null {
  const { schema } = cell.type
  const lines = linesOf(cell, 0)
  if (!lines) return null
  const [content, placed]: [Node[], Flat['lines']] = [[], []]
  let to = 0
  for (const { nodes, from, size } of lines) {
    if (content.length && nodes.length) {
      content.push(schema.nodes['hardBreak']!.create())
      to += 1
    }
    const shift = nodes.reduce((sum, node) => sum + node.nodeSize, 0)
    placed.push(nodes.length ? { from, size, to: to + shift - size } : { from, size: 0, to })
    content.push(...nodes)
    to += shift
  }
  return { paragraph: schema.nodes['paragraph']!.create(null, Fragment.from(content)), lines: placed }
}

/** The lines of the blocks in *holder*, the content of which begins at *start*; null: one has no text. */
function linesOf(holder: Node, start: number): Line[] | null {
  const lines: Line[] = []
  let at = start
  for (const [index, block] of holder.children.entries()) {
    const found = linesOfBlock(block, at)
    if (!found) return null
    const sign = signOf(holder, block, index)
    if (sign) (found[0] ??= { nodes: [], from: at, size: 0 }).nodes.unshift(holder.type.schema.text(sign))
    lines.push(...found)
    at += block.nodeSize
  }
  return lines
}

function linesOfBlock(block: Node, at: number): Line[] | null {
  const { schema, name } = block.type
  const text = (words: string) => (words ? [schema.text(words)] : [])
  if (block.type.spec.code) return codeLines(block, at)
  if (block.isTextblock) return [{ nodes: block.children.map(withoutNewlines), from: at + 1, size: block.content.size }]
  if (name === 'horizontalRule') return []
  if (name === 'rawBlock') return [{ nodes: text(String(block.attrs['raw'] ?? '').replace(/\s+/g, ' ')), from: at, size: 0 }]
  if (name === 'mathBlock') return [{ nodes: [formulaOf(schema, block)], from: at, size: 0 }]
  return block.isAtom ? null : linesOf(block, at + 1)
}

function codeLines(block: Node, at: number): Line[] {
  const { schema } = block.type
  let from = at + 1
  return block.textContent.split('\n').map((words) => {
    const line = { nodes: words.trim() ? [schema.text(words, [schema.marks['code']!.create()])] : [], from, size: words.length }
    from += words.length + 1
    return line
  })
}

function formulaOf(schema: Schema, block: Node): Node {
  const latex = String(block.attrs['latex'] ?? '').replace(/\s+/g, ' ')
  return schema.nodes['mathInline']!.create({ latex, display: true })
}

function withoutNewlines(node: Node): Node {
  return node.text?.includes('\n') ? node.type.schema.text(node.text.replaceAll('\n', ' '), node.marks) : node
}

/** What stands for the sign of an item, which is no text in a list. */
function signOf(holder: Node, item: Node, index: number): string | null {
  const { name } = holder.type
  if (name === 'bulletList') return '• '
  if (name === 'orderedList') return `${Number(holder.attrs['start'] ?? 1) + index}. `
  return name === 'taskList' ? (item.attrs['checked'] ? '☑ ' : '☐ ') : null
}
