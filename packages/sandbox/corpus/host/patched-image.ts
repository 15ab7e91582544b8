// Before the corpus remembers the realm of the host: it builds patched images there, and the bundler adds globals.
import 'rolldown'
import { readFile } from 'node:fs/promises'
import type { Image } from '../../src/process/image.ts'
import { buildImage } from '../../src/process/image.ts'

/** Files come from memory as before. Node resolves everything else. */
const OPEN_MODULES = `
import { registerHooks } from 'node:module'
export function sealModules(author) {
  const files = new Map()
  const authorUrl = 'bulkhead:author'
  registerHooks({
    resolve(specifier, context, next) {
      const isAuthor = specifier === '@bulkhead/contract' || specifier === '@bulkhead/contract/author'
      if (isAuthor) return { url: authorUrl, shortCircuit: true }
      const url = URL.canParse(specifier) ? specifier : URL.parse(specifier, context.parentURL)?.href
      return files.has(url) ? { url, shortCircuit: true } : next(specifier, context)
    },
    load(url, context, next) {
      const source = url === authorUrl ? author : files.get(url)
      const format = url.endsWith('.json') ? 'json' : url.endsWith('.wasm') ? 'wasm' : url.endsWith('.cjs')
        ? 'commonjs' : 'module'
      return source === undefined ? next(url, context) : { format, source, shortCircuit: true }
    },
  })
  const fileUrl = (id, path) => new URL(path, 'tool://' + id + '/').href
  return {
    admit(id, main, given) {
      for (const [path, base64] of given) files.set(fileUrl(id, path), Buffer.from(base64, 'base64'))
      return fileUrl(id, main)
    },
    offer: () => undefined,
    forget: () => files.clear(),
  }
}
`
const NO_LOCKDOWN = 'export function lockDown() {}'
const NO_SHIMS = 'export const installShims = () => ({ enter: undefined, moduleSource: () => undefined })'
const NO_PROBE = 'export async function probeLockdown() {}'

/** Keeps builtins, globals, process and prototypes unchanged. */
export function withoutLockdown(): Promise<Image> {
  return imageWith(new Map([
    ['lockdown.ts', () => NO_LOCKDOWN], ['probe.ts', () => NO_PROBE], ['modules.ts', () => OPEN_MODULES],
    ['shims.ts', () => NO_SHIMS],
  ]))
}

/** For a worker without Node's permission model: removes the probe, which would fail. */
export const withPermissionGone = (): Promise<Image> => imageWith(new Map([['probe.ts', () => NO_PROBE]]))

/** The hull starts its worker without the permission model and keeps its own. */
export function withoutPermissionInHull(image: Image): Image {
  return { ...image, hull: swap(image.hull, '...options,', "...options, execArgv: ['--no-warnings'],") }
}

/** A worker that runs only code of the attacker, with the raw channel to the host. */
export async function hostileWorker(image: Image): Promise<Image> {
  const source = await readFile(new URL('../extensions/hostile-worker.js', import.meta.url), 'utf8')
  const url = JSON.stringify(`data:text/javascript,${encodeURIComponent(source)}`)
  const script = { text: `(function () { void import(${url}); return {} })`, cache: new Uint8Array() }
  return { ...image, script }
}

async function imageWith(replacements: ReadonlyMap<string, (source: string) => string>): Promise<Image> {
  const left = new Set(replacements.keys())
  const image = await buildImage((name, text) => {
    left.delete(name)
    return replacements.get(name)?.(text) ?? text
  })
  if (left.size > 0) throw new Error(
    `The worker has no ${[...left].join(', ')} any more; the corpus must learn its new parts.`,
  )
  return image
}

function swap(source: string, old: string, replacement: string): string {
  if (!source.includes(old)) throw new Error(
    `"${old}" is not in the source any more; the corpus must learn its new form.`,
  )
  return source.replace(old, replacement)
}
