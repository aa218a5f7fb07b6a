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

console.log(JSON.stringify({ untouched, saved, underived: { isEditableBefore, isEditableAfter, asRead, text } }))
process.exit()
