// Documents as JSON: what two of them have in common, whatever their ids, and how an open document becomes one.
import type { Node, Schema } from '@tiptap/pm/model'
import { held, release } from './schema.js'

/** A node of a document. Those that stand at the top are its blocks; each has `attrs.id`, unique in the document. */
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

/** What a block says, as a text to compare: the block without ids. */
export function meaning(block: Block): string {
  let found = meanings.get(block)
  if (found === undefined) {
    found = JSON.stringify(withoutIds(block))
    meanings.set(block, found)
  }
  return found
}

function withoutIds(block: Block): Block {
  if (block.type === 'mention' || (!block.attrs && !block.content)) return block // a mention's id is what it mentions
  const { id: _, ...attrs } = block.attrs ?? {}
  return { ...block, attrs, ...(block.content && { content: block.content.map(withoutIds) }) }
}

/** The id of a block, if it has one. */
export function idOf(block: Block): string | null {
  const id = block.attrs?.['id']
  return typeof id === 'string' ? id : null
}

/** Whether a block is an empty paragraph, which Markdown has no place for: it says nothing. */
function isBlank(block: Block): boolean {
  return block.type === 'paragraph' && !block.content?.length && block.attrs?.['beyond'] == null
}

/** The blocks that say something. */
export function spoken(all: Block[]): Block[] {
  return all.filter((block) => !isBlank(block))
}

/** Whether two lists of blocks say the same. */
export function agree(one: Block[], other: Block[]): boolean {
  const [a, b] = [spoken(one), spoken(other)]
  const isSame = (block: Block, index: number) => block === b[index] || meaning(block) === meaning(b[index]!)
  return a.length === b.length && a.every(isSame)
}

/** The blocks of an open document; the same objects for nodes that did not change. */
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

/** A page's content as this editor holds it: every attribute of the schema is there, what it lacks is held. */
export function opened(content: Content, schema: Schema): Node {
  let found = documents.get(content)
  if (found?.type.schema !== schema) {
    found = held(content, schema) as Node
    documents.set(content, found)
  }
  return found
}

/** What is written to `page.content`. */
export function written(all: Block[]): Content {
  return release({ type: 'doc', content: spoken(all) }) as Content
}
