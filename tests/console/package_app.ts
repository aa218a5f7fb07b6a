// An app that uses the npm package @mirrord/tiptap: tests/console/test_package.py installs it in a project and runs this.
import { type Content, type Saved, openPage } from '@mirrord/tiptap'

const saved: { content: Content; version: number }[] = []
const content = JSON.parse(process.argv[2]!) as Content
let answer = (version: number): Saved => ({ version: version + 1 })

const page = openPage({
  page: { id: 'a', version: 7, content },
  save: (written, version) => {
    saved.push({ content: written, version })
    return Promise.resolve(answer(version))
  },
})
const untouched = page.unsaved()
const type = (text: string) => page.editor.view.dispatch(page.editor.state.tr.insertText(text, 1))

type('x')
await page.saveNow()

const elsewhere = structuredClone(saved[0]!.content)
elsewhere.content.push({ type: 'paragraph', content: [{ type: 'text', text: 'from elsewhere' }] })
type('y')
answer = () => ({ page: { id: 'a', version: 9, content: elsewhere, markdown: '' } })
await page.saveNow()
answer = (version) => ({ version: version + 1 })
await page.saveNow()

page.destroy()

// As a driver gives versions that has no numbers so large, and a page that has no document yet.
const asRead: string[] = []
const words = (text: string): Content => ({ type: 'doc', content: [{ type: 'paragraph', attrs: { id: 'p' }, content: [{ type: 'text', text }] }] })
const underived = openPage({
  page: { id: 'b', version: '9', content: null },
  save: (written, version) => {
    asRead.push(`${version} ${JSON.stringify(written).includes('words')}`)
    return Promise.resolve({ version: String(version + 1) })
  },
})
const isEditableBefore = underived.editor.isEditable
underived.editor.view.dispatch(underived.editor.state.tr.insertText('z', 1))
await underived.saveNow()
underived.update({ id: 'b', version: '9', content: words('words') })
underived.update({ id: 'b', version: '10', content: words('more words') })
const text = underived.editor.getText()
underived.editor.view.dispatch(underived.editor.state.tr.insertText('z', 1))
await underived.saveNow()
const isEditableAfter = underived.editor.isEditable
underived.destroy()

// A notification that comes late, and an app that itself lets nobody edit for a while.
const overVersions: number[] = []
const late = openPage({
  page: { id: 'c', version: 7, content: null },
  save: (_, version) => {
    overVersions.push(version)
    return Promise.resolve({ version: version + 1 })
  },
})
late.update({ id: 'c', version: 6, content: words('old words') })
const editable = { afterOlder: late.editor.isEditable, afterApp: true, afterDocument: true, afterAppAgain: false }
late.editor.view.dispatch(late.editor.state.tr.insertText('z', 1))
await late.saveNow()
const savedAfterOlder = [...overVersions]
late.editor.setEditable(true)
editable.afterApp = late.editor.isEditable
late.editor.setEditable(false)
late.update({ id: 'c', version: 7, content: words('new words') })
editable.afterDocument = late.editor.isEditable
late.editor.setEditable(true)
editable.afterAppAgain = late.editor.isEditable
late.editor.view.dispatch(late.editor.state.tr.insertText('z', 1))
await late.saveNow()
const lateText = late.editor.getText()
late.destroy()
const stale = { editable, savedAfterOlder, overVersions, text: lateText }

console.log(JSON.stringify({ untouched, saved, underived: { isEditableBefore, isEditableAfter, asRead, text }, stale }))
process.exit()
