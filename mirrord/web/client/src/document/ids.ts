// Every block and every item gets an id when it is created, so that it is recognised when it returns from the page.
import { Extension } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { Plugin, type Transaction } from '@tiptap/pm/state'

export const Ids = Extension.create({
  name: 'mirrordIds',
  addProseMirrorPlugins: () => [
    new Plugin({
      appendTransaction: (transactions, _, state) =>
        transactions.some((each) => each.docChanged) ? given(state.tr) : null,
    }),
  ],
})

const ITEMS = new Set(['listItem', 'taskItem'])

function given(transaction: Transaction): Transaction | null {
  return identified(transaction).docChanged ? transaction.setMeta('addToHistory', false) : null
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
