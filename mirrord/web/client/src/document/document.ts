// Documents as JSON: comparison without ids, and conversion from and to an open document.
import type { Node, Schema } from '@tiptap/pm/model'
import { held, release } from './schema.js'

/** A node of a document. Nodes at the top are its blocks; each has `attrs.id`, unique in the document. */
export interface Block {
  type: string
  attrs?: Record<string, unknown>
  content?: Block[]
  text?: string
  marks?: { type: string; attrs?: Record<string, unknown> }[]
}

/** A whole document as `page.content` has it. */
export interface Content {
  type: 'doc'
  content: Block[]
}

const meanings = new WeakMap<Block, string>()
const blocks = new WeakMap<Node, Block>()
const documents = new WeakMap<Content, Node>()
const texts = new WeakMap<Block, string>()
const released = new WeakMap<Block, Block>()

/** A text for comparison: the block without ids. */
export function meaning(block: Block): string {
  return remembered(meanings, block, (one) => JSON.stringify(withoutIds(one)))
}

function withoutIds(block: Block): Block {
  if (block.type === 'mention' || (!block.attrs && !block.content)) return block // the id of a mention is its target
  const { id: _, ...attrs } = block.attrs ?? {}
  return { ...block, attrs, ...(block.content && { content: block.content.map(withoutIds) }) }
}

/** The id of a block, if it has one. */
export function idOf(block: Block): string | null {
  const id = block.attrs?.['id']
  return typeof id === 'string' ? id : null
}

/** Whether a block is an empty paragraph, which Markdown cannot store. */
function isBlank(block: Block): boolean {
  return block.type === 'paragraph' && !block.content?.length && block.attrs?.['beyond'] == null
}

/** The blocks without empty paragraphs. */
export function spoken(all: Block[]): Block[] {
  return all.filter((block) => !isBlank(block))
}

/** Whether two lists of blocks are equal without ids and empty paragraphs. */
export function agree(one: Block[], other: Block[]): boolean {
  const [a, b] = [spoken(one), spoken(other)]
  const isSame = (block: Block, index: number) => block === b[index] || meaning(block) === meaning(b[index]!)
  return a.length === b.length && a.every(isSame)
}

/** The blocks of an open document; unchanged nodes give the same objects. */
export function blocksOf(doc: Node): Block[] {
  return doc.children.map((child) => {
    let found = blocks.get(child)
    if (!found) {
      found = child.toJSON() as Block
      blocks.set(child, found)
    }
    return found
  })
}

/** The content of a page in the schema of this editor: with every attribute, and with holders for unknown nodes. */
export function opened(content: Content, schema: Schema): Node {
  let found = documents.get(content)
  if (found?.type.schema !== schema) {
    found = held(content, schema) as Node
    documents.set(content, found)
  }
  return found
}

/** The value for `page.content`; unchanged blocks give the same objects. */
export function written(all: Block[]): Content {
  return { type: 'doc', content: spoken(all).map((block) => remembered(released, block, release as (block: Block) => Block)) }
}

/** The JSON of a block, made once. */
export const jsonOf = (block: Block): string => remembered(texts, block, JSON.stringify)

function remembered<T>(known: WeakMap<Block, T>, block: Block, make: (block: Block) => T): T {
  let value = known.get(block)
  if (value === undefined) {
    value = make(block)
    known.set(block, value)
  }
  return value
}
