import {
  BulkheadError, CONTRACT_VERSION, type ExtensionDescriptor, type ExtensionModule, type Layer, type ResolvedConfig,
} from '@bulkhead/contract'
import { declaredManifest } from '@bulkhead/contract/author'
import type { Host as CoreHost } from '@bulkhead/host'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { FolderLoader } from '@bulkhead/loader'

/** A function of the program that embeds the host, as a tool. `defineTool` makes it. */
export interface NamedTool {
  readonly name: string
  execute(args: never, runtime: never): unknown
}

/** What `register` takes. */
export type Registrable = NamedTool | ExtensionDescriptor

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
  async register(given: Registrable | readonly Registrable[]): Promise<void> {
    const all = [given].flat()
    const tools = all.flatMap((one, index) => isDescriptor(one) ? [] : [namedTool(one, index)])
    const described = await Promise.all(tools.map((tool) => this.#describe(tool)))
    const own = described.flatMap((descriptor) => descriptor ?? [])
    const twin = own.find(({ id }, index) => own.findIndex((other) => other.id === id) !== index)
    if (twin) throw taken(twin, 'another of these tools has this name, or one that differs only in case or dashes.')
    await this.#host.register([...all.filter(isDescriptor), ...own])
    const hidden = own.find(({ id, manifest: { tools: [tool] } }) => {
      const offered = this.#host.tool(tool!.name)
      return offered !== undefined && offered.extension !== id
    })
    if (hidden) {
      for (const { id, layer } of own) await this.#host.unregister(id, layer)
      throw taken(hidden, 'an extension of another layer offers a tool with this name.')
    }
    for (const descriptor of own) this.#registered.set(descriptor.manifest.tools[0]!.name, descriptor)
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

  async #describe(tool: NamedTool): Promise<ExtensionDescriptor | undefined> {
    const { name } = tool
    const module: ExtensionModule = { tools: { [name]: tool } }
    try {
      const manifest = {
        kind: 'Tool', contractVersion: CONTRACT_VERSION, requiredCoreVersion: '*', version: '1.0.0',
        id: name.toLowerCase().replaceAll('_', '-'), ...declaredManifest(module),
      }
      return await this.#loader.describe({ manifest, module }, this.#config())
    } catch (thrown) {
      const message = `The tool "${visibleText(name)}" cannot be registered: ${messageOf(thrown)}`
      throw new BulkheadError(BulkheadError.is(thrown) ? thrown.code : 'ShapeInvalid', message)
    }
  }
}

const isDescriptor = (given: Registrable): given is ExtensionDescriptor =>
  typeof given === 'object' && given !== null && 'manifest' in given && 'digests' in given

function namedTool(given: Registrable, index: number): NamedTool {
  const { name, execute } = (given ?? {}) as Partial<NamedTool>
  if (typeof name === 'string' && typeof execute === 'function') return given as NamedTool
  throw new BulkheadError(
    'ConfigInvalid',
    `register takes tools, such as defineTool({ name, description, input, execute }), and descriptors of a loader. ${
      typeof execute === 'function' ? 'The tool has no name.' : 'This is neither.'}`,
    { data: { path: `/tools/${index}` } },
  )
}

const taken = ({ manifest: { tools: [tool] } }: ExtensionDescriptor, why: string): BulkheadError => new BulkheadError(
  'RegistrationConflict', `The tool "${tool!.name}" cannot be registered: ${why} Use another name.`,
)
