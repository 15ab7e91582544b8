import { fileURLToPath } from 'node:url'
import { BulkheadError, type ConfigFile, type ExtensionDescriptor, type Store } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { AssemblyOptions } from '../facade/create-host.ts'

export interface TestExtension {
  /** The folder of the extension, with its source. */
  readonly folder: string | URL
  /** Its configuration, checked against its configSchema. Default: none. */
  readonly config?: JsonObject
  /** What `runtime.state` has at first. Default: nothing. */
  readonly state?: Json
}

interface LoadedExtension {
  readonly extension: ExtensionDescriptor
  /** What the host needs for it. */
  readonly options: Pick<AssemblyOptions, 'config' | 'store'>
}

/** Builds an extension as a user would install it. Rejects with the fault of its folder, its code or its configuration. */
export async function loadExtension(
  { folder, config, state }: TestExtension,
  { home, config: file, store }: Pick<AssemblyOptions, 'config' | 'store'> & { readonly home: string },
): Promise<LoadedExtension> {
  const { readExtensionFolder } = await import('../cli/extension-source.ts')
  const path = typeof folder === 'string' ? folder : fileURLToPath(folder)
  const { extension } = await readExtensionFolder(path, { home }, config)
  const configured = config === undefined ? file : withConfig(file, extension.id, config)
  return {
    extension,
    options: {
      ...(configured && { config: configured }),
      ...(state !== undefined && { store: await storeWith(state, extension, store) }),
    },
  }
}

const withConfig = (file: ConfigFile = {}, id: string, config: JsonObject): ConfigFile =>
  ({ ...file, extensions: { ...file.extensions, [id]: { ...file.extensions?.[id], config } } }) as ConfigFile

/** As the tools of the extension would have written it. */
async function storeWith(
  data: Json, { id, layer, manifest: { stateSlot } }: ExtensionDescriptor, given: Store | undefined,
): Promise<Store> {
  if (stateSlot === null) throw new BulkheadError('ConfigInvalid', `"${id}" has no stateSlot, so it keeps no state.`)
  const [{ createMemoryStore }, { stateKey }] = await Promise.all([import('@bulkhead/store'), import('@bulkhead/host')])
  const store = given ?? createMemoryStore()
  // An installed extension has one state for all folders.
  await store.write('state', stateKey({ id, layer }, ''), { slotVersion: stateSlot.slotVersion, data })
  return store
}
