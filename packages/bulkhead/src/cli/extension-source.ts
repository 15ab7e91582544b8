import { rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { BulkheadError, CALL_LIMITS, DEFAULT_LIMITS, NO_GRANT, type CodeOrigins, type ExtensionDescriptor } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { packFolder, type Packed, type PackOptions } from '@bulkhead/loader'
import type { Host } from '../facade/create-host.ts'
import { homeFolder } from '../facade/folders.ts'
import { loaderOptions } from '../facade/loader-options.ts'
import { bundleModule } from '../facade/bundling/bundle.ts'
import type { SourceValues } from './host-options.ts'
import { temporaryFolder } from './write-file.ts'

/** Whether a target of a command is a tarball, by its name. */
export const isTarball = (path: string): boolean => /\.(?:tgz|tar\.gz)$/.test(path)

/**
 * Turns the source of an extension into a package in memory: bundles it, and proves it as a host does. `config` is
 * checked against the configSchema. Writes nothing.
 */
export async function readExtensionFolder(
  given: string, { home, root }: SourceValues, config?: JsonObject,
  reading: Pick<PackOptions, 'anyCore' | 'forProject' | 'unsigned'> = {},
): Promise<Packed & { readonly folder: string }> {
  const folder = resolve(given)
  const fault = folderFault(folder)
  if (fault !== undefined) {
    throw new BulkheadError(
      'InstallSourceInvalid', `"${given}" ${fault}. Name the folder of an extension, such as ./weather.`,
    )
  }
  const loader = loaderOptions(homeFolder(home))
  const packed = await packFolder(folder, {
    loader, root, bundle: bundleModule, describe, ...reading, ...(config && { config }),
  })
  return { ...packed, folder }
}

/**
 * Builds the extension of a folder that the user named, to run it from there. It counts as a part of the project: the
 * policy of that layer applies, and so do rules and approvals.
 */
export const readForProject = (folder: string, values: SourceValues): Promise<Packed> =>
  readExtensionFolder(folder, values, undefined, { forProject: true })

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

const DESCRIBER = 'bulkhead.describe.js'

/**
 * The part of the manifest that a module declares. The module runs in a compartment without any power: it may contain
 * the code of others.
 */
async function describe(
  module: string, files: ReadonlyMap<string, Uint8Array>, origins: CodeOrigins,
): Promise<JsonObject> {
  const { createSandbox } = await import('@bulkhead/sandbox')
  const code = `import * as source from ${JSON.stringify(`./${module}`)}
import { declaredManifest } from '@bulkhead/contract/author'
const isExtension = typeof source.default?.tools === 'object' && source.default.tools !== null
export default { tools: { describe: { execute: () => isExtension ? declaredManifest(source.default) : null } } }
`
  await using opened = new AsyncDisposableStack()
  const workspace = temporaryFolder('bulkhead-pack-')
  opened.defer(() => rmSync(workspace, { recursive: true, force: true }))
  const sandbox = createSandbox({ workspace, spares: { process: 0, thread: 0 } })
  opened.defer(() => sandbox.close())
  const session = await sandbox.open({
    extension: { id: 'source', version: '0.0.0', layer: 'global' }, placement: 'process', config: {},
    code: { kind: 'files', main: `./${DESCRIBER}`, files: new Map([...files, [DESCRIBER, Buffer.from(code)]]), origins },
    describes: true,
    tools: [{ name: 'describe', grant: NO_GRANT, inputSchema: { type: 'object' }, requires: {} }],
    limits: DEFAULT_LIMITS, services: { log: () => undefined, env: new Map(), envDeclared: new Set() },
  })
  opened.defer(() => session.close())
  const signal = AbortSignal.timeout(CALL_LIMITS.defaultTimeoutMs)
  const declared = await session.call({ callId: 'describe', tool: 'describe', args: {}, signal })
    .catch((error: unknown): never => {
      const { code: why, message } = BulkheadError.from(error)
      throw new BulkheadError(why, `${origins.main}: ${message}`, { cause: error })
    })
  if (isJsonObject(declared)) return declared
  throw new BulkheadError(
    'ShapeInvalid', `${origins.main} exports no extension. Add: export default defineExtension({ tools: { … } })`,
  )
}
