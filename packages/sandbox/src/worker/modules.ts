import { Buffer } from 'node:buffer'
import { builtinModules, registerHooks } from 'node:module'
import type { LoadFnOutput, ResolveFnOutput } from 'node:module'
import { CodedError } from '../wire/errors.ts'
import { ALLOWED_BUILTINS, builtinName, denial } from './allow-list.ts'
import { lockNodeStreams } from './node-streams.ts'

const builtins: ReadonlySet<string> = new Set(builtinModules)
/** The only module of this project that an extension may import. */
const AUTHOR_URL = 'bulkhead:author'
const SHIM_URL = 'bulkhead:node/'
const AUTHOR_SPECIFIERS: ReadonlySet<string> = new Set(['@bulkhead/contract', '@bulkhead/contract/author'])
const MODULE_FILE = /\.m?js$/
const RELATIVE = /^\.{0,2}\//
const TOOL_FOLDER = /^tool:\/\/[^/]*\//

/** The modules of a compartment after lockdown: verified files, the author module and a few builtins. */
export interface ModuleMap {
  /** Adds files and returns the URL of the main file. Called before the first import. */
  admit(id: string, main: string, files: readonly (readonly [path: string, base64: string])[]): string
  /** Gives the source of an ES module that stands for a builtin, undefined for all others. */
  offer(moduleSource: (name: string) => string | undefined): void
  /** Removes all files. */
  forget(): void
}

/**
 * After this call every import follows these rules. Later hooks run first, and only an allowed builtin is passed on.
 * CommonJS is refused, because it can reach the module system.
 */
export function sealModules(author: string): ModuleMap {
  const files = new Map<string, Uint8Array>()
  let shimSource: (name: string) => string | undefined = () => undefined

  const resolve = (specifier: string, parent: string | undefined): string => {
    if (AUTHOR_SPECIFIERS.has(specifier)) return AUTHOR_URL
    const builtin = builtinName(specifier, builtins)
    if (builtin !== undefined) {
      const allowed = ALLOWED_BUILTINS.get(builtin)
      if (allowed?.isLate === true) lockNodeStreams()
      if (allowed !== undefined) return `node:${builtin}`
      if (shimSource(builtin) !== undefined) return `${SHIM_URL}${builtin}`
      throw new CodedError('BuiltinDenied', denial(builtin), { data: { module: builtin, ...importer(parent) } })
    }
    const relative = RELATIVE.test(specifier) ? URL.parse(specifier, parent)?.href : undefined
    const url = URL.canParse(specifier) ? specifier : relative
    if (url !== undefined && files.has(url)) return url
    throw new CodedError(
      'ModuleNotFound',
      `"${specifier}" is not among the verified files of the extension. `
        + 'Bundle dependencies when packing, and import files by their relative path.',
      { data: { specifier, ...importer(parent) } },
    )
  }

  registerHooks({
    resolve(specifier, context, next): ResolveFnOutput {
      const url = resolve(specifier, context.parentURL)
      return url.startsWith('node:') ? next(url, context) : { url, shortCircuit: true }
    },
    load(url, context, next): LoadFnOutput {
      if (url.startsWith('node:')) return next(url, context)
      if (url.startsWith(SHIM_URL)) {
        return { format: 'module', source: shimSource(url.slice(SHIM_URL.length))!, shortCircuit: true }
      }
      if (url === AUTHOR_URL) return { format: 'module', source: author, shortCircuit: true }
      const source = files.get(url)
      if (source === undefined) {
        throw new CodedError('ModuleNotFound', `"${url}" is not among the verified files of the extension.`)
      }
      return { format: formatOf(url), source, shortCircuit: true }
    },
  })

  return {
    admit(id, main, given) {
      for (const [path, base64] of given) files.set(fileUrl(id, path), Buffer.from(base64, 'base64'))
      return fileUrl(id, main)
    },
    offer: (moduleSource) => void (shimSource = moduleSource),
    forget: () => files.clear(),
  }
}

/** The URL that a relative import resolves to. Only characters with a meaning in URLs are escaped. */
const fileUrl = (id: string, path: string): string =>
  new URL(`./${path.replaceAll(/[%?#\s]/g, encodeURIComponent)}`, `tool://${id}/`).href

function formatOf(url: string): 'module' | 'json' | 'wasm' {
  if (MODULE_FILE.test(url)) return 'module'
  if (url.endsWith('.json')) return 'json'
  if (url.endsWith('.wasm')) return 'wasm'
  throw new CodedError(
    'ModuleNotFound',
    `"${url}" is neither an ES module (.js, .mjs), JSON nor WebAssembly, and cannot be imported.`,
  )
}

/** The file that imports it. The host names it, or the written file that it was built from. */
const importer = (parent: string | undefined): { readonly importer?: string } =>
  parent?.startsWith('tool://') ? { importer: parent.replace(TOOL_FOLDER, '') } : {}
