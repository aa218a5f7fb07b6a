// Builds ../static/built/: from src editor.js and the modules that it loads when needed, from ../static console.js.
// With --test runs test/*.test.ts instead; with --package DIRECTORY builds the npm package @mirrord/tiptap there.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const STATIC = join(HERE, '../static')
const BUILT = join(STATIC, 'built')
const LATER = ['languages', 'formulas'] // what src/later/later.ts loads
const FRAME = 'diagrams.html' // what src/diagrams/drawing.ts loads into a frame
const PACKED = 'dist/mirrord-tiptap-*.tgz' // where `make package` packs it
const LIMIT = 350_000 // bytes of all together, gzipped

const shared = { bundle: true, format: 'esm', loader: { '.css': 'text' }, logLevel: 'warning', absWorkingDir: HERE }

// To detect V8, ProseMirror reads a stack when it is loaded, and for the line numbers V8 parses the whole editor once more.
// Its measures for V8 do no harm in other browsers.
const STACK = 'let { stack } = new Error("/");'
const stackless = {
  name: 'stackless',
  setup: ({ onLoad }) =>
    onLoad({ filter: /prosemirror-model.dist.index\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes(STACK)) throw new Error(`${path} looks at no stack any more: build.js need not change that`)
      return { contents: text.replace(STACK, String.raw`let stack = '\n at '`), loader: 'js' }
    }),
}

async function bundle() {
  const looks = { minify: !process.env.PLAIN, target: 'es2022', legalComments: 'eof' }
  const options = { ...looks, outdir: BUILT, plugins: [stackless] }
  const files = ['editor', ...LATER]
  await frame(looks)
  await Promise.all(files.map((name) => build({ ...shared, ...options, ...entry(name) })))
  await bundleConsole(looks)
  files.push('console')
  const sizes = files.map((name) => gzipSync(readFileSync(join(BUILT, `${name}.js`))).length)
  const size = sizes.reduce((sum, one) => sum + one)
  const told = files.map((name, at) => `${name}.js ${Math.ceil(sizes[at] / 1000)}`).join(' + ')
  console.log(`${told} = ${Math.ceil(size / 1000)} kB gzipped, of at most ${LIMIT / 1000}`)
  return size > LIMIT ? 1 : 0
}

// One file with its program in it: the frame has no origin that could load another one.
async function frame(looks) {
  const entryPoints = ['src/diagrams/frame.ts']
  const { outputFiles } = await build({ ...shared, ...looks, entryPoints, format: 'iife', write: false })
  const [{ text }] = outputFiles
  const policy = `script-src 'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const head = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><title>Diagrams</title>`
  mkdirSync(BUILT, { recursive: true })
  writeFileSync(join(BUILT, FRAME), `${head}<body><script>${text}</script>`)
  console.log(`${FRAME} ${Math.ceil(gzipSync(text).length / 1000)} kB gzipped, for pages with diagrams only`)
}

// The modules of the console in one script: a browser asks once where it asked forty times. The digest says of which.
async function bundleConsole(looks) {
  const digest = digestOfModules()
  const outfile = join(BUILT, 'console.js')
  await build({ ...shared, ...looks, entryPoints: [join(STATIC, 'console.js')], outfile, plugins: [besideEditor] })
  writeFileSync(join(BUILT, 'console.sha256'), digest)
}

const besideEditor = {
  name: 'beside-editor',
  setup: ({ onResolve }) =>
    onResolve({ filter: /built\/(editor|formulas)\.js$/ }, ({ path }) => ({ path: path.replace(/.*built/, '.'), external: true })),
}

// As `digest_of_modules` in own_files/assets.py makes it.
function digestOfModules() {
  const isModule = (path) => path.endsWith('.js') && !path.startsWith('built/')
  const paths = readdirSync(STATIC, { recursive: true }).map((path) => path.split(sep).join('/')).filter(isModule)
  const digest = createHash('sha256')
  for (const path of paths.sort()) digest.update(`${path}\n`).update(readFileSync(join(STATIC, path)))
  return digest.digest('hex')
}

const entry = (name) => ({
  entryPoints: [LATER.includes(name) ? `src/later/${name}.ts` : `src/${name}.ts`],
  external: LATER.map((other) => `./${other}.js`),
})

async function test() {
  const outdir = mkdtempSync(join(tmpdir(), 'mirrord-editor-'))
  const entryPoints = readdirSync(join(HERE, 'test')).filter((name) => name.endsWith('.test.ts'))
  try {
    const named = entryPoints.map((name) => join('test', name))
    await build({ ...shared, platform: 'node', entryPoints: named, outdir, outExtension: { '.js': '.mjs' } })
    const files = entryPoints.map((name) => join(outdir, name.replace(/\.ts$/, '.mjs')))
    return spawnSync(process.execPath, ['--test', ...files], { stdio: 'inherit' }).status ?? 1
  } finally {
    rmSync(outdir, { recursive: true })
  }
}

// Only what is in src/package and below it is bundled; TipTap is the app's own.
async function pack(directory) {
  const outfile = join(directory, 'index.js')
  mkdirSync(directory, { recursive: true })
  const { metafile } = await build({
    ...{ ...shared, entryPoints: ['src/package/index.ts'], outfile, packages: 'external', metafile: true },
    ...{ target: 'es2022', platform: 'neutral' },
  })
  const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
  const { dependencies } = JSON.parse(readFileSync(join(HERE, 'package.json'), 'utf8'))
  const needed = Object.keys(dependencies).filter((name) => imported.some((path) => `${path}/`.startsWith(`${name}/`)))
  const peerDependencies = Object.fromEntries(needed.map((name) => [name, `^${dependencies[name]}`]))
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify({ ...about(), peerDependencies }, null, 2)}\n`)
  cpSync(join(HERE, 'src/package/README.md'), join(directory, 'README.md'))
  cpSync(join(HERE, '../../../LICENSE'), join(directory, 'LICENSE'))
  const options = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--rootDir', 'src']
  const types = [...options, '--outDir', join(directory, 'types')]
  const tsc = join(HERE, 'node_modules/.bin/tsc')
  const tested = needed.map((name) => `${name}@${dependencies[name]}`)
  console.log(`Install it with the versions of TipTap that it is tested with:\nnpm install ${PACKED} ${tested.join(' ')}`)
  return spawnSync(tsc, ['-p', 'tsconfig.package.json', ...types], { cwd: HERE, stdio: 'inherit' }).status ?? 1
}

function about() {
  const [, version] = readFileSync(join(HERE, '../../__init__.py'), 'utf8').match(/__version__ = "(.+)"/)
  return {
    ...{ name: '@mirrord/tiptap', version, type: 'module', license: 'Apache-2.0' },
    description: 'A TipTap editor that shows every page of mirrord and returns it without loss',
    exports: { '.': { types: './types/package/index.d.ts', default: './index.js' } },
    files: ['index.js', 'types'],
  }
}

const target = process.argv.indexOf('--package')
process.exitCode = await (target > 0 ? pack(resolve(process.argv[target + 1])) : process.argv.includes('--test') ? test() : bundle())
