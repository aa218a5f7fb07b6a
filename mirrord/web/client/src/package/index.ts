// The npm package @mirrord/tiptap: an editor for pages of mirrord in an app of its own. `node build.js --package` builds it.
import { type AnyExtension, Editor, getSchema } from '@tiptap/core'
import type { Transaction } from '@tiptap/pm/state'
import { type Block, type Content, blocksOf, opened, spoken } from '../document/document'
import { Ids, identified } from '../document/ids'
import { extensions as schema, hold, release } from '../document/schema.js'
import { apply } from '../merging/apply'
import { type Piece, merge } from '../merging/merge'
import type { Page, State, Saved as SavedPage } from '../options'
import { ELSEWHERE } from '../saving/elsewhere'
import { type Desk, Saving } from '../saving/saving'

export type { Block, Content } from '../document/document'
export type { State } from '../options'
export { hold, release }

/** A version of a page: many drivers give a `bigint` as text. */
export type Version = number | string

/** A page as it was read. content: null until mirrord has derived it; until then the page cannot be edited. */
export type ReadPage = Pick<Page, 'id' | 'content'> & { version: Version }

/** The new version; the current page, if it changed; or the reason why mirrord does not take the document. */
export type Saved = { version: Version } | { page: ReadPage } | { sentence: string }

/** Every node and mark of mirrord's pages, and ids for new blocks and items. */
export const extensions: AnyExtension[] = [...(schema as AnyExtension[]), Ids]

export interface Options {
  page: ReadPage
  /** Writes over *version*; rejects if the server is out of reach, and is called again then. */
  save(content: Content, version: number): Promise<Saved>
  /** The state of the document; refused: *sentence* says why mirrord does not take it. */
  onState?(state: State, sentence?: string): void
  element?: HTMLElement | null
  /** Further extensions of the app. */
  extensions?: AnyExtension[]
}

/** An open page. */
export interface OpenPage {
  editor: Editor
  /** Called with a version that was made elsewhere or by a save; unsaved changes stay. */
  update(page: ReadPage): void
  unsaved(): boolean
  /** Resolves when unsaved changes were saved or refused, or the server was out of reach. */
  saveNow(): Promise<void>
  destroy(): void
}

/** Opens a page for editing, and saves what is typed. */
export function openPage(options: Options): OpenPage {
  const all = [...extensions, ...(options.extensions ?? [])]
  const content = options.page.content ?? { type: 'doc', content: [] }
  const editor = new Editor({
    element: options.element ?? null,
    extensions: all,
    content: hold(content, getSchema(all)),
    enableContentCheck: true,
    onContentError: ({ error }) => {
      throw error // an empty editor would empty the page
    },
  })
  const began = spoken(blocksOf(opened(content, editor.schema)))
  dispatch(editor, identified(editor.state.tr))
  const saving = new Saving(deskOf(editor, options), () => began, Number(options.page.version), false)
  let isDerived = options.page.content !== null
  const unlock = isDerived ? () => undefined : locked(editor)
  editor.on('transaction', ({ transaction, appendedTransactions }) => {
    const isTyped = [transaction, ...appendedTransactions].some((each) => each.docChanged)
    if (isDerived && isTyped && !transaction.getMeta(ELSEWHERE)) saving.changed()
  })
  return {
    editor,
    update(page) {
      saving.arrived(pageOf(page))
      if (isDerived || !page.content || Number(page.version) < Number(options.page.version)) return
      isDerived = true
      unlock()
    },
    unsaved: () => saving.unsaved(),
    saveNow: () => saving.now(),
    destroy() {
      saving.end()
      editor.destroy()
    },
  }
}

/**
 * Lets nobody edit, whatever the app sets, until the returned function is called: what is typed would be written over a
 * page that nobody saw. Then what the app wants holds again.
 */
function locked(editor: Editor): () => void {
  const setOptions = editor.setOptions.bind(editor)
  let isWanted = editor.options.editable
  editor.setOptions = (set = {}) => {
    isWanted = set.editable ?? isWanted
    setOptions({ ...set, editable: false })
  }
  editor.setOptions()
  return () => {
    editor.setOptions = setOptions
    editor.setEditable(isWanted)
  }
}

function deskOf(editor: Editor, options: Options): Desk {
  return {
    blocks: () => spoken(blocksOf(editor.state.doc)),
    blocksOf: (content) => spoken(blocksOf(opened(content, editor.schema))),
    merge: (base, page) => merged(editor, base, page),
    unsettled: () => ({ mine: blocksOf(editor.state.doc), clashes: {} }),
    clash: () => null,
    save: async (content, version) => savedOf(await options.save(content, version)),
    onState: options.onState ?? (() => undefined),
    keep: () => undefined,
  }
}

const pageOf = (page: ReadPage): Page => ({ markdown: '', ...page, version: Number(page.version) })

function savedOf(saved: Saved): SavedPage {
  if ('page' in saved) return { page: pageOf(saved.page) }
  return 'version' in saved ? { version: Number(saved.version) } : saved
}

function merged(editor: Editor, base: Block[], page: Page): void {
  const { state, schema } = editor
  const pieces = merge(base, blocksOf(state.doc), spoken(blocksOf(opened(page.content!, schema))))
  const transaction = state.tr
  apply(transaction, pieces.flatMap(withBoth))
  dispatch(editor, transaction)
}

/** A block that was changed here and elsewhere, and the other version of it below: nothing is lost, a person chooses. */
function withBoth(piece: Piece): Piece[] {
  const { theirs, ...own } = piece
  if (!theirs) return [piece]
  const { id: _, ...attrs } = theirs.attrs ?? {}
  return [own, { block: { ...theirs, attrs }, mine: null }]
}

function dispatch(editor: Editor, transaction: Transaction): void {
  if (!transaction.docChanged) return
  const marked = transaction.setMeta('addToHistory', false).setMeta(ELSEWHERE, true).setMeta('preventAutolink', true)
  editor.view.dispatch(marked)
}
