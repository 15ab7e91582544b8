import { layerRank, LOCKED_TOOLS, type ConnectedExtension, type Diagnostic, type LoadReport } from '@bulkhead/contract'
import type { Located } from '../discover/extension-folders.ts'
import { diagnose } from '../model/diagnostics.ts'
import { byteOrder } from '../model/digest.ts'
import type { Fault } from '../model/result.ts'
import { Pace } from '../model/yielder.ts'
import type { Terms } from '../prove/package-policy.ts'
import { proveConnected, type Proof } from '../prove/pipeline.ts'
import { lookAlikeKeys } from './look-alikes.ts'

type ConnectTerms = Omit<Terms, 'config' | 'pace'>

/** What was found, and beside it what servers offer or documents describe. They come last, so that nobody loses a name to them. */
export async function connect(
  report: LoadReport, connected: readonly ConnectedExtension[], rest: ConnectTerms,
): Promise<LoadReport> {
  if (connected.length === 0) return report
  const terms: Terms = { ...rest, config: report.config, pace: new Pace() }
  const isFree = freeNames(report, connected)
  const ids = new Set(report.extensions.map(({ id }) => id))
  const results = await Promise.all(connected.map(async (one): Promise<Connected> => {
    if (ids.has(one.manifest.id)) return { extensions: [], diagnostics: [told(one, sameId(one))] }
    const [free, taken] = [true, false].map((wanted) => one.manifest.tools.filter(({ name }) => isFree(name) === wanted)) as [Tools, Tools]
    const proven = await proveWhatStands({ ...one, manifest: { ...one.manifest, tools: free } }, terms)
    return { ...proven, diagnostics: [...taken.map(({ name }) => told(one, sameName(one, name))), ...proven.diagnostics] }
  }))
  const extensions = [...report.extensions, ...results.flatMap((result) => result.extensions)]
    .toSorted((a, b) => layerRank(a.layer) - layerRank(b.layer) || byteOrder(a.id, b.id))
  return Object.freeze({
    ...report, extensions: Object.freeze(extensions),
    diagnostics: Object.freeze([...report.diagnostics, ...results.flatMap((result) => result.diagnostics)]),
  })
}

interface Connected {
  readonly extensions: LoadReport['extensions']
  readonly diagnostics: readonly Diagnostic[]
}

/** Whether nobody else has the name, or one that is hard to tell from it. Of two servers that want one, neither gets it. */
function freeNames(report: LoadReport, connected: readonly ConnectedExtension[]): (name: string) => boolean {
  const found = report.extensions.flatMap(({ manifest }) => manifest.tools.map(({ name }) => name))
  const taken = new Set([...LOCKED_TOOLS, ...found].flatMap(lookAlikeKeys))
  const wanted = connected.flatMap(({ manifest }) => manifest.tools.flatMap(({ name }) => lookAlikeKeys(name)))
  const counts = Map.groupBy(wanted, (key) => key)
  return (name) => lookAlikeKeys(name).every((key) => !taken.has(key) && counts.get(key)?.length === 1)
}

/**
 * Each tool is proven alone, so that one that is at fault costs nobody else its place, and then all together; what is too much by then
 * is the last of them. Whatever a server lists, its tools are looked at twice and not more often.
 */
async function proveWhatStands(extension: ConnectedExtension, terms: Terms): Promise<Connected> {
  const prove = (tools: Tools) => proveConnected({ ...extension, manifest: { ...extension.manifest, tools } }, locate(extension), terms)
  const alone = await Promise.all(extension.manifest.tools.map(async (tool) => ({ tool, proof: await prove([tool]) })))
  const faults = alone.flatMap(({ tool, proof }) => faultsOf(proof).map((fault) => named(fault, [tool])))
  // What is wrong with the extension as a whole, each of its tools has met.
  const distinct = new Map(faults.map((fault) => [`${fault.path} ${fault.message}`, fault]))
  const diagnostics = [...distinct.values()].map((fault) => told(extension, fault))
  let tools = alone.filter(({ proof }) => proof.kind === 'proven').map(({ tool }) => tool)
  while (tools.length > 0) {
    const proof = await prove(tools)
    if (proof.kind === 'disabled') return { extensions: [], diagnostics }
    if (proof.kind === 'proven') {
      const warnings = proof.warnings.map((fault) => told(extension, named(fault, tools), 'warning'))
      return { extensions: [proof.descriptor], diagnostics: [...diagnostics, ...warnings] }
    }
    diagnostics.push(...proof.faults.map((fault) => told(extension, named(fault, tools))))
    const standing = firstAtFault(proof.faults)
    diagnostics.push(...tools.slice(standing + 1).map(({ name }) => told(extension, leftOutWith(tools[standing]!.name, name, proof.faults[0]!))))
    tools = tools.slice(0, standing)
  }
  return { extensions: [], diagnostics }
}

type Tools = ConnectedExtension['manifest']['tools']

const faultsOf = (proof: Proof): readonly Fault[] => proof.kind === 'refused' ? proof.faults : []

/** What stands behind a tool that is too much is too much itself. */
const leftOutWith = (first: string, name: string, { stage, code }: Fault): Fault =>
  ({ stage, code, path: `/tools/${name}`, message: `The tool "${name}" is left out as well: it stands behind "${first}", which is already too much.` })

const OF_TOOL = /^\/tools\/(\d+)(?=\/|$)/

/** Of the tools that stand in order; none is left of them where it is not a tool's. */
const firstAtFault = (faults: readonly Fault[]): number =>
  Math.min(...faults.map(({ path }) => Number(OF_TOOL.exec(path)?.[1] ?? 0)))

/** A number says little in a list that nobody has on a disk, and that grows shorter. */
function named(fault: Fault, tools: Tools): Fault {
  const index = OF_TOOL.exec(fault.path)?.[1]
  const name = index === undefined ? undefined : tools[Number(index)]?.name
  if (index === undefined || name === undefined) return fault
  const rename = (text: string) => text.replaceAll(new RegExp(`/tools/${index}(?=\\D|$)`, 'g'), `/tools/${name}`)
  return { ...fault, path: rename(fault.path), message: rename(fault.message) }
}

const locate = ({ layer, location, manifest: { id } }: ConnectedExtension): Located => ({ layer, location, part: location, id })

const told = ({ layer, location, manifest: { id } }: ConnectedExtension, fault: Fault, severity?: Diagnostic['severity']): Diagnostic =>
  diagnose({ layer, location, extensionId: id }, { ...fault, location: fault.location ?? location }, severity)

const NOUNS = { mcp: 'server', openapi: 'document' } as const satisfies Record<ConnectedExtension['server']['kind'], string>

const sameName = ({ server: { kind } }: ConnectedExtension, name: string): Fault => ({
  stage: 'register', code: 'RegistrationConflict', path: `/tools/${name}`,
  message: `The name "${name}" is that of another tool, or can hardly be told from it: the ${NOUNS[kind]}'s is left out.`,
  cure: `Give the ${NOUNS[kind]} another ${kind === 'mcp' ? 'name' : '"prefix"'} in the configuration.`,
})

const sameId = ({ manifest: { id }, server: { kind } }: ConnectedExtension): Fault => ({
  stage: 'register', code: 'RegistrationConflict', path: '',
  message: `An extension is called "${id}" already: the tools of the ${NOUNS[kind]} are left out.`,
  cure: `Give the ${NOUNS[kind]} another name in the configuration.`,
})
