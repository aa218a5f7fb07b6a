// Pasting: Markdown becomes what it says, HTML from elsewhere is cleaned, pictures become attachments.
import { Extension } from '@tiptap/core'
import { DOMParser, type ParseOptions, type ResolvedPos, type Schema, type Slice } from '@tiptap/pm/model'
import { Plugin, Selection } from '@tiptap/pm/state'
import * as views from '@tiptap/pm/view'
import type { EditorView } from '@tiptap/pm/view'
import { opened } from '../document/document'
import type { Options } from '../options'
import { type Tell, putFiles } from './uploads'
import { clean, withoutStyle } from './clean'
import { isMarkdown, sliceOf } from './markdown'
import { embeddedIn, fileOf, isPictureAlone, named, withAddresses } from './pictures'
import { mark } from './places'
import { PASTE } from '../words'

/** Receives what is pasted; *tell* shows failures to a person. */
export function pasting(options: Options, tell: Tell): Extension {
  return Extension.create({
    name: 'mirrordPasting',
    priority: 1000, // before TipTap makes a block of code of each word from an editor of code
    addProseMirrorPlugins() {
      const receiver = new Receiver(options, tell)
      return [
        new Plugin({
          props: {
            clipboardParser: new CleaningParser(this.editor.schema),
            transformPastedHTML: withoutStyle,
            handlePaste: (view, event) => receiver.paste(view, event),
            handleDOMEvents: { keydown: (_, event) => receiver.press(event), keyup: (_, event) => receiver.press(event) },
          },
        }),
      ]
    },
  })
}

class CleaningParser extends DOMParser {
  constructor(schema: Schema) {
    super(schema, DOMParser.fromSchema(schema).rules)
  }

  override parseSlice(dom: globalThis.Node, options?: ParseOptions): Slice {
    if (!options?.preserveWhitespace) clean(dom as HTMLElement) // what is kept as it is comes from an editor like this one
    return super.parseSlice(dom, options)
  }
}

class Receiver {
  #isShift = false // Ctrl+Shift+V pastes words only

  constructor(
    private readonly options: Options,
    private readonly tell: Tell,
  ) {}

  press({ shiftKey }: KeyboardEvent): void {
    this.#isShift = shiftKey
  }

  /** Whether what is pasted is taken care of here; ProseMirror receives everything else. */
  paste(view: EditorView, { clipboardData: data }: ClipboardEvent): boolean {
    const isCode = view.state.selection.$from.parent.type.spec.code
    const html = data?.getData('text/html') ?? ''
    if (!data || html.includes('data-pm-slice')) return false
    const files = [...data.files]
    if (files.length && (!html || isPictureAlone(html))) return this.#files(view, html ? [named(files[0]!, html)] : files)
    const text = data.getData('text/plain')
    if (isCode || this.#isShift || !(text || html)) return false
    const mode = modeOf(data)
    if (mode !== null && !isProse(mode)) return this.#code(view, text, mode)
    if (html && mode === null) return embeddedIn(html).length > 0 && this.#pictures(view, html)
    return isMarkdown(text) && this.#markdown(view, text)
  }

  #files(view: EditorView, files: File[]): boolean {
    void putFiles(view, view.state.selection.from, files, this.options, this.tell)
    return true
  }

  /** From an editor of code: several lines are a block, words are words. */
  #code(view: EditorView, text: string, mode: string): boolean {
    const { schema, tr } = view.state
    if (!text.includes('\n')) view.dispatch(tr.insertText(text))
    else {
      const code = schema.text(text.replace(/\r\n?/g, '\n').replace(/\n$/, ''))
      view.dispatch(tr.replaceSelectionWith(schema.nodes['codeBlock']!.create({ language: mode || null }, code)))
    }
    return true
  }

  #markdown(view: EditorView, text: string): boolean {
    void this.#later(view, 'Markdown', async () => {
      const content = await this.options.convert(text)
      return (at) => sliceOf(opened(content, view.state.schema), view.state.doc.resolve(at))
    }).catch((error: unknown) => {
      this.tell(PASTE.asText(messageOf(error)))
      if (!view.isDestroyed) put(view, view.state.selection.from, (at) => plainSlice(view, text, at))
    })
    return true
  }

  #pictures(view: EditorView, html: string): boolean {
    void this.#later(view, 'pictures', async () => {
      const addresses = await this.#uploaded(embeddedIn(html))
      return (at) => parsed(view, '', withAddresses(html, addresses), at)
    })
    return true
  }

  async #uploaded(embedded: string[]): Promise<Map<string, string>> {
    const found = new Map<string, string>()
    for (const [index, address] of embedded.entries()) {
      const file = fileOf(address, index + 1)
      try {
        if (file) found.set(address, (await this.options.upload(file)).src)
      } catch (error) {
        this.tell(PASTE.notUploaded(messageOf(error)))
      }
    }
    return found
  }

  /** Puts a slice where the selection is now, as soon as it is there. */
  async #later(view: EditorView, label: string, ask: () => Promise<(at: number) => Slice | null>): Promise<void> {
    if (!view.state.selection.empty) view.dispatch(view.state.tr.deleteSelection())
    const place = mark(view, view.state.selection.from, label)
    const asked = await ask().catch((error: unknown) => {
      place.end()
      throw error
    })
    const at = place.end()
    if (at !== null) put(view, at, asked)
  }
}

function put(view: EditorView, at: number, sliceAt: (at: number) => Slice | null): void {
  const slice = sliceAt(at)
  if (!slice) return
  const isThere = view.state.selection.empty && view.state.selection.from === at
  const transaction = view.state.tr.replaceRange(at, at, slice)
  if (isThere) transaction.setSelection(Selection.near(transaction.doc.resolve(transaction.mapping.map(at)), -1))
  view.dispatch(transaction.setMeta('preventAutolink', true).scrollIntoView())
}

/** How ProseMirror reads a clipboard, which it exports without a type. */
const parseFromClipboard = (views as unknown as { __parseFromClipboard: ReadClipboard }).__parseFromClipboard
type ReadClipboard = (view: EditorView, text: string, html: string | null, isPlain: boolean, $at: ResolvedPos) => Slice | null

const parsed = (view: EditorView, text: string, html: string, at: number) =>
  parseFromClipboard(view, text, html, false, view.state.doc.resolve(at))
const plainSlice = (view: EditorView, text: string, at: number) =>
  parseFromClipboard(view, text, null, true, view.state.doc.resolve(at))

/** The language of what was copied in VS Code; null: it is from elsewhere. */
function modeOf(data: DataTransfer): string | null {
  try {
    const { mode } = JSON.parse(data.getData('vscode-editor-data')) as { mode?: string }
    return mode ?? ''
  } catch {
    return null
  }
}

const isProse = (mode: string) => ['markdown', 'plaintext', 'text'].includes(mode)
const messageOf = (error: unknown) => (error instanceof Error ? error.message : 'try again')
