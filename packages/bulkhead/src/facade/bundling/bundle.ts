import { builtinModules, isBuiltin } from 'node:module'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Bundle, BundledFiles } from '@bulkhead/loader'
import type { Plugin, RolldownError } from 'rolldown'
import { bundleOrigins } from './bundle-origins.ts'
import { refuseDecorators, refuseUnsupported } from './unsupported.ts'

const NO_BUNDLER = 'The extension is TypeScript or has dependencies, and rolldown, which bundles them, cannot be '
  + 'loaded. Install bulkhead again, with the optional dependencies of rolldown for this platform.'

/** Modules that every compartment provides. */
const PROVIDED: readonly (string | RegExp)[] = [
  '@bulkhead/contract', '@bulkhead/contract/author', /^node:/, ...builtinModules,
]

/**
 * Bundles a module and its dependencies into one ES module: a compartment has neither `require` nor packages. Throws
 * PackageUnsafe if it imports a file that `sources` refuses.
 */
export async function bundleModule(main: string, sources: BundledFiles): Promise<Bundle> {
  let rolldown: typeof import('rolldown')
  let plugins: typeof import('rolldown/plugins')
  try {
    [rolldown, plugins] = await Promise.all([import('rolldown'), import('rolldown/plugins')])
  } catch (error) {
    throw new BulkheadError('ModuleNotFound', NO_BUNDLER, { cause: error })
  }
  const tsconfig = sources.tsconfig() ?? false
  let refusal: unknown
  const imports = new Map<string, readonly string[]>()
  const texts = new Map<string, string>()
  const reader = sourceReader(sources, texts, (error) => { refusal ??= error })
  try {
    const build = await rolldown.rolldown({
      input: join(sources.folder, main), cwd: sources.folder, logLevel: 'silent', tsconfig,
      // The `node` platform would add `createRequire`, which compartments lack. The bundler adds the `import` or
      // `require` condition per import; naming `require` here would select the CommonJS build of every dual package.
      // The build for browsers of a package that has one: a compartment has web globals, and few modules of Node. If
      // a package names builds for both, its order decides.
      platform: 'neutral',
      resolve: {
        mainFields: ['browser', 'module', 'main'],
        aliasFields: [['browser']],
        conditionNames: ['browser', 'node', 'default'],
      },
      // The first turns `require` of an external module into an import. The bundler would emit its own `require`
      // otherwise.
      plugins: [plugins.esmExternalRequirePlugin({ external: [...PROVIDED] }), reader, importReader(imports)],
    })
    const { output } = await build.generate({ format: 'esm', codeSplitting: false, sourcemap: 'hidden' })
    await build.close()
    const [chunk, ...more] = output
    const others = more.filter(({ fileName }) => fileName !== chunk.sourcemapFileName)
    if (others.length > 0) throw new Error(`It needs ${others.length} further files.`)
    await refuseDecorators(main, chunk.code)
    const file = main.replace(/ts$/, 'js')
    const map = chunk.map?.toString() ?? NO_MAP
    const origins = bundleOrigins({ sources, main, file, map, imports, texts })
    return { code: withVisibleCharacters(chunk.code), origins }
  } catch (error) {
    if (refusal !== undefined) throw refusal
    throw BulkheadError.is(error) ? error : bundleFault(error, main, sources)
  }
}

/** An error of the bundler, with the written file and line. */
function bundleFault(error: unknown, main: string, sources: BundledFiles): BulkheadError {
  const { errors: [first] = [] } = error as { readonly errors?: readonly RolldownError[] }
  const { file = join(sources.folder, main), line } = first?.loc ?? {}
  const written = sources.shown(file)
  const place = line === undefined ? written : `${written}, line ${line},`
  const text = stripVTControlCharacters(messageOf(error)).replace(/^Build failed with .*\n+/, '').trim()
  return first?.code === 'PARSE_ERROR'
    ? new BulkheadError('CompartmentStartFailed', `${place} cannot be parsed. Correct it and try again.\n${text}`)
    : new BulkheadError('ModuleNotFound', `${place} cannot be bundled. Correct it and try again.\n${text}`, { cause: error })
}

const NO_MAP = '{"version":3,"sources":[],"names":[],"mappings":""}'

/** The bundler puts a module of its own between a `require` and the module of Node. */
const BETWEEN = /^builtin:esm-external-require-/

/** A builtin module has its scheme, however it is imported. */
function importedName(id: string): string {
  const name = id.replace(BETWEEN, '')
  return isBuiltin(name) && !name.startsWith('node:') ? `node:${name}` : name
}

/** Notes what each module imports. */
const importReader = (imports: Map<string, readonly string[]>): Plugin => ({
  name: 'bulkhead:imports',
  buildEnd() {
    for (const id of this.getModuleIds()) {
      const { importedIds = [], dynamicallyImportedIds = [] } = this.getModuleInfo(id) ?? {}
      imports.set(id, [...importedIds, ...dynamicallyImportedIds].map(importedName))
    }
  },
})

/**
 * The bundler writes an escape in a string as the character. Invisible ones and marks of direction would hide code from
 * a reviewer, so the conformance suite refuses them.
 */
const withVisibleCharacters = (code: string): string =>
  code.replaceAll(/[\u202A-\u202E\u2066-\u2069\u200B\u2060\uFEFF]/g, (one) =>
    `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Reads the files of a bundle in place of the bundler, which would read any file. */
function sourceReader(
  sources: BundledFiles, texts: Map<string, string>, onRefusal: (error: unknown) => void,
): Plugin {
  const checked = <Value>(work: () => Value): Value => {
    try {
      return work()
    } catch (error) {
      onRefusal(error)
      // The bundler writes properties of its own to an error that a plugin throws.
      throw new Error('refused', { cause: error })
    }
  }
  return {
    name: 'bulkhead:sources',
    async resolveId(source, importer, { kind, isEntry }) {
      checked(() => refuseUnsupported(source, importer, sources))
      const found = await this.resolve(source, importer, { kind, isEntry, skipSelf: true })
      // Modules of the bundler itself have no path.
      const isFile = found !== null && found.external === false && !found.id.startsWith('\0')
      if (isFile) checked(() => sources.admit(found.id, importer))
      // The bundler resolves it again. Should it then find another file, `load` refuses that.
      return undefined
    },
    load: (id) => checked(() => {
      const text = new TextDecoder().decode(sources.read(id))
      texts.set(id, text)
      return text
    }),
  }
}
