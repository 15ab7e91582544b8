import { rmSync, statSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join, resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { BulkheadError, CALL_LIMITS, DEFAULT_LIMITS, NO_GRANT, type ExtensionDescriptor } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { packFolder, type Packed, type PackOptions } from '@bulkhead/loader'
import type { Host } from '../facade/create-host.ts'
import { homeFolder } from '../facade/folders.ts'
import { loaderOptions } from '../facade/loader-options.ts'
import { temporaryFolder } from './write-file.ts'

/**
 * Turns the source of an extension into a package in memory: bundles it, and proves it as a host does. `config` is
 * checked against the configSchema. Writes nothing.
 */
export async function readExtensionFolder(
  given: string, home: string | undefined, config?: JsonObject,
  reading: Pick<PackOptions, 'anyCore' | 'forProject' | 'unsigned'> = {},
): Promise<Packed & { readonly folder: string }> {
  const folder = resolve(given)
  const fault = folderFault(folder)
  if (fault !== undefined) {
    throw new BulkheadError(
      'InstallSourceInvalid', `"${given}" ${fault}. Name the folder of an extension, such as ./weather.`,
    )
  }
  const bundle = (main: string) => bundleModule(folder, main)
  const loader = loaderOptions(homeFolder(home))
  const packed = await packFolder(folder, { loader, bundle, describe, ...reading, ...(config && { config }) })
  return { ...packed, folder }
}

/**
 * Builds the extension of a folder that the user named, to run it from there. It counts as a part of the project: the
 * policy of that layer applies, and so do rules and approvals.
 */
export const readForProject = (folder: string, home: string | undefined): Promise<Packed> =>
  readExtensionFolder(folder, home, undefined, { forProject: true })

/** Offers an extension in a running host, in place of any other with its id. */
export async function offer(host: Host, extension: ExtensionDescriptor): Promise<void> {
  const others = host.extensions().filter(({ id }) => id === extension.id)
  for (const { id, layer } of others) await host.unregister(id, layer)
  await host.register([extension])
}

function folderFault(path: string): string | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? undefined : 'is not a folder'
  } catch (error) {
    return `cannot be read: ${messageOf(error)}`
  }
}

const NO_BUNDLER = 'The extension is TypeScript or has dependencies, and rolldown, which bundles them, cannot be '
  + 'loaded. Install bulkhead again, with the optional dependencies of rolldown for this platform.'

/** Modules that every compartment provides. */
const PROVIDED: readonly (string | RegExp)[] = [
  '@bulkhead/contract', '@bulkhead/contract/author', /^node:/, ...builtinModules,
]

/** Bundles a module and its dependencies into one ES module: a compartment has neither `require` nor packages. */
async function bundleModule(folder: string, main: string): Promise<string> {
  let rolldown: typeof import('rolldown')
  let plugins: typeof import('rolldown/plugins')
  try {
    [rolldown, plugins] = await Promise.all([import('rolldown'), import('rolldown/plugins')])
  } catch (error) {
    throw new BulkheadError('ModuleNotFound', NO_BUNDLER, { cause: error })
  }
  try {
    const build = await rolldown.rolldown({
      input: join(folder, main), cwd: folder, logLevel: 'silent',
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
      // Turns `require` of an external module into an import. The bundler would emit its own `require` otherwise.
      plugins: [plugins.esmExternalRequirePlugin({ external: [...PROVIDED] })],
    })
    const { output } = await build.generate({ format: 'esm', codeSplitting: false })
    await build.close()
    const [chunk, ...others] = output
    if (others.length > 0) throw new Error(`It needs ${others.length} further files.`)
    return chunk.code
  } catch (error) {
    const text = stripVTControlCharacters(messageOf(error)).trim()
    const isSyntax = text.includes('[PARSE_ERROR]')
    throw isSyntax
      ? new BulkheadError('CompartmentStartFailed', `${main} cannot be parsed. Correct it and try again.\n${text}`)
      : new BulkheadError('ModuleNotFound', `${main} cannot be bundled: ${text}`, { cause: error })
  }
}

const DESCRIBER = 'bulkhead.describe.js'

/**
 * The part of the manifest that a module declares. The module runs in a compartment without any power: it may contain
 * the code of others.
 */
async function describe(module: string, files: ReadonlyMap<string, Uint8Array>): Promise<JsonObject> {
  const { createSandbox } = await import('@bulkhead/sandbox')
  const code = `import extension from ${JSON.stringify(`./${module}`)}
import { declaredManifest } from '@bulkhead/contract/author'
export default { tools: { describe: { execute: () => declaredManifest(extension) } } }
`
  await using opened = new AsyncDisposableStack()
  const workspace = temporaryFolder('bulkhead-pack-')
  opened.defer(() => rmSync(workspace, { recursive: true, force: true }))
  const sandbox = createSandbox({ workspace })
  opened.defer(() => sandbox.close())
  const session = await sandbox.open({
    extension: { id: 'source', version: '0.0.0', layer: 'global' }, placement: 'process', config: {},
    code: { kind: 'files', main: `./${DESCRIBER}`, files: new Map([...files, [DESCRIBER, Buffer.from(code)]]) },
    tools: [{ name: 'describe', grant: NO_GRANT, inputSchema: { type: 'object' }, requires: {} }],
    limits: DEFAULT_LIMITS, services: { log: () => undefined, env: new Map(), envDeclared: new Set() },
  })
  opened.defer(() => session.close())
  const signal = AbortSignal.timeout(CALL_LIMITS.defaultTimeoutMs)
  const declared = await session.call({ callId: 'describe', tool: 'describe', args: {}, signal })
  if (isJsonObject(declared)) return declared
  throw new BulkheadError('ShapeInvalid', `${module} does not declare an extension.`)
}
