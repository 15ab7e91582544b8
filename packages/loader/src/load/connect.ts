import { layerRank, LOCKED_TOOLS, type ConnectedExtension, type Diagnostic, type LoadReport } from '@bulkhead/contract'
import type { ProofContext } from '../describe/extension.ts'
import type { ExtensionCandidate } from '../discover/extension-folders.ts'
import { diagnose, type Fault } from '../model/result.ts'
import { byteOrder } from '../model/digest.ts'
import { Yielder } from '../model/yielder.ts'
import { proveConnected, type Proof, type Proven } from '../prove/pipeline.ts'
import { lookAlikeKeys } from './register.ts'

type ConnectContext = Omit<ProofContext, 'config' | 'yielder'>

/** Adds the tools of servers and API documents to a report. They come last, so no extension loses a name to them. */
export async function connect(
  report: LoadReport, connected: readonly ConnectedExtension[], rest: ConnectContext,
): Promise<LoadReport> {
  if (connected.length === 0) return report
  const context: ProofContext = { ...rest, config: report.config, yielder: new Yielder() }
  const isFree = freeNames(report, connected)
  const ids = new Set(report.extensions.map(({ id }) => id))
  const results = await Promise.all(connected.map(async (one): Promise<Connected> => {
    if (ids.has(one.manifest.id)) return { extensions: [], diagnostics: [diagnosticOf(one, sameId(one))] }
    const { free = [], taken = [] } = Object.groupBy(one.manifest.tools, ({ name }) => isFree(name) ? 'free' : 'taken')
    const proven = await proveTools({ ...one, manifest: { ...one.manifest, tools: free } }, context)
    return {
      ...proven,
      diagnostics: [...taken.map(({ name }) => diagnosticOf(one, sameName(one, name))), ...proven.diagnostics],
    }
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

/** Whether a name is unused and unlike any other. Of two servers that claim one name, neither gets it. */
function freeNames(report: LoadReport, connected: readonly ConnectedExtension[]): (name: string) => boolean {
  const found = report.extensions.flatMap(({ manifest }) => manifest.tools.map(({ name }) => name))
  const taken = new Set([...LOCKED_TOOLS, ...found].flatMap(lookAlikeKeys))
  const wanted = connected.flatMap(({ manifest }) => manifest.tools.flatMap(({ name }) => lookAlikeKeys(name)))
  const counts = Map.groupBy(wanted, (key) => key)
  return (name) => lookAlikeKeys(name).every((key) => !taken.has(key) && counts.get(key)?.length === 1)
}

/**
 * Proves all tools together. If that fails, proves each alone, so that a faulty one does not affect the others, then
 * the rest together. Tools that exceed a common limit are dropped from the end.
 */
async function proveTools(extension: ConnectedExtension, context: ProofContext): Promise<Connected> {
  const prove = (tools: Tools) =>
    proveConnected({ ...extension, manifest: { ...extension.manifest, tools } }, candidateOf(extension), context)
  const whole = await prove(extension.manifest.tools)
  if (whole.kind === 'disabled') return { extensions: [], diagnostics: [] }
  if (whole.kind === 'proven') return provenOf(extension, extension.manifest.tools, whole, [])
  const alone = await Promise.all(extension.manifest.tools.map(async (tool) => ({ tool, proof: await prove([tool]) })))
  const faults = alone.flatMap(({ tool, proof }) => faultsOf(proof).map((fault) => named(fault, [tool])))
  // A fault of the whole extension is found once for each tool.
  const distinct = new Map(faults.map((fault) => [`${fault.path} ${fault.message}`, fault]))
  const diagnostics = [...distinct.values()].map((fault) => diagnosticOf(extension, fault))
  let tools = alone.filter(({ proof }) => proof.kind === 'proven').map(({ tool }) => tool)
  while (tools.length > 0) {
    const proof = await prove(tools)
    if (proof.kind === 'disabled') return { extensions: [], diagnostics }
    if (proof.kind === 'proven') return provenOf(extension, tools, proof, diagnostics)
    diagnostics.push(...proof.faults.map((fault) => diagnosticOf(extension, named(fault, tools))))
    const kept = firstAtFault(proof.faults)
    const leftOut = tools.slice(kept + 1).map(({ name }) => leftOutWith(tools[kept]!.name, name, proof.faults[0]!))
    diagnostics.push(...leftOut.map((fault) => diagnosticOf(extension, fault)))
    tools = tools.slice(0, kept)
  }
  return { extensions: [], diagnostics }
}

type Tools = ConnectedExtension['manifest']['tools']

const provenOf = (
  extension: ConnectedExtension, tools: Tools, { descriptor, warnings }: Proven, diagnostics: readonly Diagnostic[],
): Connected => ({
  extensions: [descriptor],
  diagnostics: [
    ...diagnostics, ...warnings.map((fault) => diagnosticOf(extension, named(fault, tools), 'warning')),
  ],
})

const faultsOf = (proof: Proof): readonly Fault[] => proof.kind === 'refused' ? proof.faults : []

const leftOutWith = (first: string, name: string, { stage, code }: Fault): Fault =>
  ({
    stage, code, path: `/tools/${name}`,
    message: `The tool "${name}" is left out: it comes after "${first}", which already exceeds the limit.`,
  })

const OF_TOOL = /^\/tools\/(\d+)(?=\/|$)/

/** The index of the first tool at fault; 0 when a fault is not about a tool. */
const firstAtFault = (faults: readonly Fault[]): number =>
  Math.min(...faults.map(({ path }) => Number(OF_TOOL.exec(path)?.[1] ?? 0)))

/** Replaces the index of a tool by its name: the list is not in a file, and indices change as tools are dropped. */
function named(fault: Fault, tools: Tools): Fault {
  const index = OF_TOOL.exec(fault.path)?.[1]
  const name = index === undefined ? undefined : tools[Number(index)]?.name
  if (index === undefined || name === undefined) return fault
  const rename = (text: string) => text.replaceAll(new RegExp(`/tools/${index}(?=\\D|$)`, 'g'), `/tools/${name}`)
  return { ...fault, path: rename(fault.path), message: rename(fault.message) }
}

const candidateOf = ({ layer, location, manifest: { id } }: ConnectedExtension): ExtensionCandidate =>
  ({ layer, location, part: location, id })

const diagnosticOf = (
  { layer, location, manifest: { id } }: ConnectedExtension, fault: Fault, severity?: Diagnostic['severity'],
): Diagnostic =>
  diagnose({ layer, location, extensionId: id }, { ...fault, location: fault.location ?? location }, severity)

const NOUNS = {
  mcp: 'server', openapi: 'document',
} as const satisfies Record<ConnectedExtension['server']['kind'], string>

const sameName = ({ server: { kind } }: ConnectedExtension, name: string): Fault => ({
  stage: 'register', code: 'RegistrationConflict', path: `/tools/${name}`,
  message: `The tool name "${name}" is taken by another tool, or looks like it. `
    + `The tool of the ${NOUNS[kind]} is left out.`,
  cure: `Give the ${NOUNS[kind]} another ${kind === 'mcp' ? 'name' : '"prefix"'} in the configuration.`,
})

const sameId = ({ manifest: { id }, server: { kind } }: ConnectedExtension): Fault => ({
  stage: 'register', code: 'RegistrationConflict', path: '',
  message: `Another extension has the id "${id}". The tools of the ${NOUNS[kind]} are left out.`,
  cure: `Give the ${NOUNS[kind]} another name in the configuration.`,
})
