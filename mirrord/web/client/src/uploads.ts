// Uploads: files that are pasted, dropped or chosen become attachments of the page; pictures are shown in their place.
import type { Editor } from '@tiptap/core'
import { Plugin, PluginKey, type StateField, type Transaction } from '@tiptap/pm/state'
import { Decoration, DecorationSet, type EditorProps, type EditorView } from '@tiptap/pm/view'
import type { Action } from './actions'
import { element } from './dom'
import type { Options } from './options'

type Tell = (sentence: string) => void

/** Uploads files that are pasted or dropped; *tell* shows failures to a person. */
export function receiving(options: Options, tell: Tell): Plugin {
  return new Plugin({
    key: KEY,
    state: waiting(),
    props: { ...handlers(options, tell), decorations: (state) => KEY.getState(state) },
  })
}

function handlers(options: Options, tell: Tell): EditorProps {
  return {
    handlePaste: (view, event) => {
      const files = filesOf(event.clipboardData)
      if (!files.length || event.clipboardData?.types.includes('text/html')) return false
      void putAll(view, view.state.selection.from, files, options, tell)
      return true
    },
    handleDrop: (view, event, _, isMove) => {
      const files = isMove ? [] : filesOf(event.dataTransfer)
      if (!files.length) return false
      const at = view.posAtCoords({ left: event.clientX, top: event.clientY })?.pos ?? view.state.selection.from
      event.preventDefault()
      void putAll(view, at, files, options, tell)
      return true
    },
  }
}

/** The action that opens a dialog for a file. */
export function choosing(options: Options, tell: Tell): Action {
  const run = (editor: Editor) => {
    const input = element('input', { type: 'file', multiple: true })
    input.addEventListener('change', () => {
      const { view } = editor
      void putAll(view, view.state.selection.from, [...(input.files ?? [])], options, tell)
    })
    input.click()
  }
  return { label: 'Picture or file', sign: 'File', run }
}

const filesOf = (data: DataTransfer | null) => [...(data?.files ?? [])]

async function putAll(view: EditorView, at: number, files: File[], options: Options, tell: Tell): Promise<void> {
  for (const file of files) {
    const mark = {}
    view.dispatch(view.state.tr.setMeta(KEY, { begin: mark, at, name: file.name } satisfies Step))
    let src: string | null = null
    try {
      src = (await options.upload(file)).src
      tell('')
    } catch (error) {
      tell(`${file.name} was not uploaded: ${error instanceof Error ? error.message : 'try again'}`)
    }
    if (view.isDestroyed) return
    at = KEY.getState(view.state)!.find(undefined, undefined, (spec) => spec['mark'] === mark)[0]?.from ?? at
    const transaction = view.state.tr.setMeta(KEY, { end: mark } satisfies Step)
    if (src !== null) put(transaction, at, file, src)
    view.dispatch(transaction)
  }
}

function put(transaction: Transaction, at: number, file: File, src: string): void {
  const { schema } = transaction.doc.type
  const name = file.name.replace(/\.\w+$/, '')
  const node = file.type.startsWith('image/')
    ? schema.nodes['image']!.create({ src, alt: name })
    : schema.text(file.name, [schema.marks['link']!.create({ href: src })])
  const { parent } = transaction.doc.resolve(at)
  const isText = parent.inlineContent && !parent.type.spec.code
  transaction.insert(at, isText ? node : schema.nodes['paragraph']!.create(null, node))
}

/** Files that are being uploaded: each has a mark at its place, which moves with the text before it. */
type Step = { begin: object; at: number; name: string } | { end: object }
const KEY = new PluginKey<DecorationSet>('mirrordUploads')

function waiting(): StateField<DecorationSet> {
  return {
    init: () => DecorationSet.empty,
    apply(transaction, known) {
      const now = known.map(transaction.mapping, transaction.doc)
      const step = transaction.getMeta(KEY) as Step | undefined
      if (!step) return now
      if ('end' in step) return now.remove(now.find(undefined, undefined, (spec) => spec['mark'] === step.end))
      const shown = () => element('span', { class: 'chip' }, `… ${step.name}`)
      return now.add(transaction.doc, [Decoration.widget(step.at, shown, { mark: step.begin })])
    },
  }
}
