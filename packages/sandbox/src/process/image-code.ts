import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtCode, type Built } from '@bulkhead/kit/built-code'
import type { Plugin } from 'rolldown'

// Runs from the sources only. In a published package the build replaces this module by its result.

/** Gets the name and the source of each file, and returns the source to use. */
type Rewrite = (name: string, text: string) => string

/**
 * Our own modules as scripts that set `image` to the exports of their entry. They call `builtin` for modules of Node.
 * `author` is an ES module.
 */
export interface ImageCode {
  readonly hull: string
  readonly worker: string
  readonly shims: string
  readonly author: string
}

const ownFile = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const ROLLDOWN = fileURLToPath(import.meta.resolve('rolldown'))

/** Bundled at first use, and kept while no source changes. */
export const imageCode = async (rewrite?: Rewrite): Promise<ImageCode> =>
  rewrite === undefined ? builtCode('image', import.meta.url) : (await build(rewrite)).code

/** Called in a thread, and by tests that change a source. */
export async function build(rewrite?: Rewrite): Promise<Built<ImageCode>> {
  const [hull, worker, shims, author] = await Promise.all([
    bundle(ownFile('../worker/hull-main.ts'), 'iife', rewrite),
    bundle(ownFile('../worker/main.ts'), 'iife', rewrite),
    bundle(ownFile('../worker/shims/library.ts'), 'iife', rewrite),
    bundle('@bulkhead/contract/author', 'esm', rewrite),
  ])
  const sources = [hull, worker, shims, author].flatMap((one) => one.sources)
  return {
    code: { hull: hull.code, worker: worker.code, shims: shims.code, author: author.code },
    sources: [...new Set([...sources, ownFile(import.meta.url), ROLLDOWN])],
  }
}

/** A module of ours, with everything it imports. A warning of the bundler, such as an unknown import, fails. */
export async function bundle(
  input: string, format: 'iife' | 'esm', rewrite: Rewrite = (_name, text) => text,
): Promise<Built<string>> {
  const { rolldown } = await import('rolldown')
  const building = await rolldown({
    input,
    cwd: ownFile('.'),
    platform: 'node',
    tsconfig: false,
    onLog: (_level, log, handle) => handle('error', log),
    plugins: [CAPTURED_BUILTINS, {
      name: 'rewrite', transform: { filter: { id: /^\// }, handler: (text, id) => rewrite(basename(id), text) },
    }],
  })
  const { output: [chunk] } = await building.generate({
    format,
    name: 'image',
    exports: 'named',
    generatedCode: { symbols: false },
    codeSplitting: false,
    comments: false,
    // Inlining could undo what a module captures.
    minify: false,
  })
  const sources = await building.watchFiles
  await building.close()
  return { code: asciiOnly(chunk.code), sources }
}

/**
 * Takes the exports of Node's modules once, when the script starts, as a destructured `require` would. The bundler
 * itself would read them from the module again at each use, where an extension may have replaced them.
 */
const CAPTURED_BUILTINS: Plugin = {
  name: 'captured-builtins',
  resolveId: {
    filter: { id: /^node:/ },
    handler: (id, _importer, { kind }) => kind === 'dynamic-import'
      ? { id, external: true }
      : { id: `\0${id}`, moduleSideEffects: false },
  },
  load: {
    filter: { id: /^\0node:/ },
    handler(id) {
      const name = id.slice(1)
      const exported = Object.keys(process.getBuiltinModule(name) ?? {}).filter((key) => key !== 'default')
      return [
        `const all = builtin('${name}')`, 'const exported = (name) => all[name]', 'export default all',
        ...exported.map((key) => `export const ${key} = /* @__PURE__ */ exported('${key}')`),
      ].join('\n')
    },
  },
}

/** One non-ASCII character would double the memory of the script in each thread, and the time to read it. */
function asciiOnly(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
