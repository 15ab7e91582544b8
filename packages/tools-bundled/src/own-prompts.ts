import { fileURLToPath } from 'node:url'
import { BUNDLED_TOOLS, isBundledTool, type Content } from '@bulkhead/contract'
import { folderOf } from './model/tool-module.ts'
import { type Guidance, parseGuidance } from './prompts/guidance.ts'
import { fillKit, type Kit, kitNamed, parseKit } from './prompts/kits.ts'
import { type FaultReader, type FileParser, MAX_FILES, readYamlFile, readYamlFiles } from './prompts/yaml-files.ts'

/** Our own files are part of the package. */
const OURS: FaultReader = { report: (fault) => { throw new Error(fault) } }
// The build puts this code into a folder beside these, too.
const ownPath = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** The files of the user, which replace ours by name, and then ours. */
function createReader<Item extends object>(
  what: string, parse: FileParser<Item>, nameOf: (item: Item) => string, readOurs: () => Promise<readonly Item[]>,
): (userFolder: string, reader: FaultReader) => Promise<readonly Item[]> {
  let ours: Promise<readonly Item[]> | undefined
  return async (userFolder, reader) => {
    ours ??= readOurs()
    const theirs = await readYamlFiles(userFolder, what, parse, reader)
    const replaced = new Set(theirs.map(nameOf))
    return [...theirs, ...(await ours).filter((item) => !replaced.has(nameOf(item)))]
  }
}

export const readKits =
  createReader<Kit>('kit', parseKit, ({ name }) => name, () => readYamlFiles(ownPath('kits'), 'kit', parseKit, OURS))

const readAllGuidance = createReader<Guidance>('guidance', parseGuidance, ({ tool }) => tool, async () =>
  (await Promise.all(BUNDLED_TOOLS.map((tool) =>
    readYamlFile(ownPath(`src/${folderOf(tool)}/guidance.yaml`), tool, 'guidance', parseGuidance, OURS)))).flat())

/** Ordered by use: the tools of others, and then ours in the order of their list. */
export async function readGuidance(userFolder: string, reader: FaultReader): Promise<readonly Guidance[]> {
  return (await readAllGuidance(userFolder, reader)).toSorted((a, b) => rankOf(a.tool) - rankOf(b.tool))
}

const rankOf = (tool: string): number => isBundledTool(tool) ? BUNDLED_TOOLS.indexOf(tool) : -1

/** Kits as prompts for MCP clients. */
export interface KitPrompts {
  list(reader: FaultReader): Promise<readonly Omit<Kit, 'text' | 'needs'>[]>
  get(name: string, args: ReadonlyMap<string, string>, reader: FaultReader): Promise<{
    readonly description: string
    readonly messages: readonly { readonly role: 'user'; readonly content: Content }[]
  }>
  complete(name: string, argument: string, reader: FaultReader): Promise<readonly string[]>
}

/** The kits that ship with the host, and those in a folder of the user, which replace them by name. */
export function createKitPrompts(userFolder: string): KitPrompts {
  const reported = new Set<string>()
  const kits = async ({ report }: FaultReader): Promise<ReadonlyMap<string, Kit>> => {
    const all = await readKits(userFolder, {
      report(fault, location) {
        if (reported.has(fault) || reported.size >= MAX_FILES) return
        reported.add(fault)
        report(fault, location)
      },
    })
    return new Map(all.map((kit) => [kit.name, kit]))
  }
  const find = async (name: string, reader: FaultReader): Promise<Kit> => {
    const kit = kitNamed([...(await kits(reader)).values()], name)
    if (kit) return kit
    throw new Error(`There is no kit "${name}".`)
  }
  return {
    async list(reader) {
      const all = [...(await kits(reader)).values()].toSorted((a, b) => a.name < b.name ? -1 : 1)
      return all.map(({ text: _text, needs: _needs, arguments: args, ...kit }) => ({
        ...kit, arguments: args.map(({ default: _preset, values: _values, ...argument }) => argument),
      }))
    },
    async get(name, args, reader) {
      const kit = await find(name, reader)
      return {
        description: kit.description,
        messages: [{ role: 'user', content: { type: 'text', text: fillKit(kit, args) } }],
      }
    },
    async complete(name, argument, reader) {
      return (await find(name, reader)).arguments.find((one) => one.name === argument)?.values ?? []
    },
  }
}
