// Every block and every item gets an id when it is created, so that it is recognised when it returns from the page.
import { Extension } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { Plugin, type Transaction } from '@tiptap/pm/state'

export const Ids = Extension.create({
  name: 'mirrordIds',
  addProseMirrorPlugins: () => [
    new Plugin({
      appendTransaction: (transactions, before, state) =>
        transactions.some((each) => each.docChanged) ? given(before.doc, state.tr) : null,
    }),
  ],
})

const ITEMS = new Set(['listItem', 'taskItem'])

/** Documents whose blocks all have ids: a key in one of them changes no id. */
const complete = new WeakSet<Node>()

/** Whether a document has the blocks of another one, in their order, with other words at most: only changed ones are looked at. */
export function haveSameIds(one: Node, other: Node): boolean {
  if (one === other) return true
  if (one.type !== other.type || one.attrs['id'] !== other.attrs['id']) return false
  if (one.isTextblock) return true
  return one.childCount === other.childCount && one.children.every((child, index) => haveSameIds(child, other.child(index)))
}

function given(before: Node, transaction: Transaction): Transaction | null {
  const { doc } = transaction
  const isComplete = (complete.has(before) && haveSameIds(before, doc)) || !identified(transaction).docChanged
  if (isComplete) complete.add(doc)
  return isComplete ? null : transaction.setMeta('addToHistory', false)
}

/** *transaction* with unique ids for all blocks and items. */
export function identified(transaction: Transaction): Transaction {
  const seen = new Set<unknown>()
  const visit = (node: Node, at: number, isTop: boolean) => {
    const id = node.attrs['id'] as unknown
    if ((isTop || ITEMS.has(node.type.name)) && 'id' in node.attrs && (id === null || seen.has(id)))
      transaction.setNodeAttribute(at, 'id', fresh())
    seen.add(id)
  }
  const { doc } = transaction // each id makes another document
  doc.descendants((node, at, parent) => {
    if (node.isInline) return false
    visit(node, at, parent === doc)
    return !node.isTextblock
  })
  return transaction
}

const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(36)).join('')
