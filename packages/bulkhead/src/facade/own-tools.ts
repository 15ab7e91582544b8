import {
  BulkheadError, CONTRACT_VERSION, type ExtensionDescriptor, type ExtensionModule, type Layer, type ResolvedConfig,
} from '@bulkhead/contract'
import { declaredManifest } from '@bulkhead/contract/author'
import type { Host as CoreHost } from '@bulkhead/host'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { FolderLoader } from '@bulkhead/loader'
import {
  importTool, type GridaToolContract, type ImportedTool, type NamedTool, type StudToolContract,
} from './foreign-tools.ts'

/** What `register` takes. */
export type Registrable = NamedTool | ExtensionDescriptor
/** What it takes of other runtimes. A type of its own, so that it does not widen what `defineTool` infers. */
export type ForeignTool = GridaToolContract | StudToolContract

type Given = Registrable | ForeignTool
type Registering = Pick<CoreHost, 'register' | 'unregister' | 'tool'>

/** Registers functions as tools. Each is an extension of its own in the bundled layer, which runs in this process. */
export class OwnTools {
  readonly #host: Registering
  readonly #loader: Pick<FolderLoader, 'describe'>
  readonly #config: () => ResolvedConfig
  /** By the name of the tool. */
  readonly #registered = new Map<string, ExtensionDescriptor>()

  constructor(host: Registering, loader: Pick<FolderLoader, 'describe'>, config: () => ResolvedConfig) {
    this.#host = host
    this.#loader = loader
    this.#config = config
  }

  /** All or none. */
  async register(given: Given | readonly Given[]): Promise<void> {
    const all = [given].flat()
    const tools = all.flatMap((one, index) => isDescriptor(one) ? [] : [importTool(one) ?? namedTool(one, index)])
    const described = await Promise.all(tools.map((tool) => this.#describe(tool)))
    const own = described.flatMap((descriptor) => descriptor ?? [])
    const twin = own.find(({ id }, index) => own.findIndex((other) => other.id === id) !== index)
    if (twin) {
      const why = 'another of these tools has this name, or one that differs only in case or dashes. Use another name.'
      throw taken(twin, why)
    }
    for (const descriptor of own) this.#refuseTaken(descriptor)
    await this.#host.register([...all.filter(isDescriptor), ...own])
    try {
      // A reload may have added it meanwhile.
      for (const descriptor of own) this.#refuseTaken(descriptor, descriptor.id)
    } catch (conflict) {
      for (const { id, layer } of own) await this.#host.unregister(id, layer)
      throw conflict
    }
    for (const descriptor of own) this.#registered.set(descriptor.manifest.tools[0]!.name, descriptor)
  }

  /** `by`: the extension that may offer it. Throws RegistrationConflict. */
  #refuseTaken(descriptor: ExtensionDescriptor, by?: string): void {
    const { name } = descriptor.manifest.tools[0]!
    const offered = this.#host.tool(name)
    if (offered === undefined || offered.extension === by) return
    throw taken(descriptor, this.#registered.has(name)
      ? 'it is registered already. Unregister it first, or use another name.'
      : `the ${offered.layer} extension "${offered.extension}" offers a tool with this name. Use another name.`)
  }

  /** Takes the name of a tool, or the id of an extension. */
  async unregister(name: string, layer?: Layer): Promise<boolean> {
    const own = layer === undefined ? this.#registered.get(name) : undefined
    if (own) this.#registered.delete(name)
    return own ? this.#host.unregister(own.id, own.layer) : this.#host.unregister(name, layer)
  }

  /** After the host has entered another folder. */
  async registerAgain(): Promise<void> {
    await this.#host.register([...this.#registered.values()])
  }

  async #describe({ tool, manifest: more, phases }: ImportedTool): Promise<ExtensionDescriptor | undefined> {
    const { name } = tool
    const module: ExtensionModule = { ...phases, tools: { [name]: tool } }
    try {
      const manifest = {
        kind: 'Tool', contractVersion: CONTRACT_VERSION, requiredCoreVersion: '*', version: '1.0.0',
        id: idOf(name), ...declaredManifest(module), ...more,
      }
      return await this.#loader.describe({ manifest, module }, this.#config())
    } catch (thrown) {
      const message = `The tool "${visibleText(name)}" cannot be registered: ${inTool(messageOf(thrown))}`
      if (!BulkheadError.is(thrown)) throw new BulkheadError('ShapeInvalid', message)
      const { path } = (thrown.data ?? {}) as { readonly path?: string }
      throw new BulkheadError(thrown.code, message, path === undefined ? {} : { data: { path: inTool(path) } })
    }
  }
}

/** Of a name that is not valid too, because the message about the name is clearer than one about the id. */
const idOf = (name: string): string => {
  const id = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-').slice(0, 64)
  return /^[a-z]/.test(id) ? id : 'tool'
}

/** Places in the manifest, as places in the tool. */
const inTool = (text: string): string => text.replace(/^\/tools\/0(?=\/)/, '').replace(/^\/(input|output)Schema/, '/$1')

const isDescriptor = (given: Given): given is ExtensionDescriptor =>
  typeof given === 'object' && given !== null && 'manifest' in given && 'digests' in given

function namedTool(given: Given, index: number): ImportedTool {
  const { name, execute } = (given ?? {}) as Partial<NamedTool>
  if (typeof name === 'string' && typeof execute === 'function') {
    return { tool: given as NamedTool, manifest: {}, phases: {} }
  }
  throw new BulkheadError(
    'ConfigInvalid',
    `register takes tools, such as defineTool({ name, description, input, execute }), and descriptors of a loader. ${
      typeof execute === 'function' ? 'The tool has no name.' : 'This is neither.'}`,
    { data: { path: `/tools/${index}` } },
  )
}

const taken = ({ manifest: { tools: [tool] } }: ExtensionDescriptor, why: string): BulkheadError => new BulkheadError(
  'RegistrationConflict', `The tool "${tool!.name}" cannot be registered: ${why}`,
)
