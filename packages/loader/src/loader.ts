import { CONFIG_FILE, type Loader, type LoadReport, type LoadRequest } from '@bulkhead/contract'
import { resolveConfig } from './config/resolve-config.ts'
import { diagnose, withFallbacks } from './diagnose.ts'
import { discover } from './discover.ts'
import type { Located, Terms } from './extension.ts'
import { idOfFolder, idOfManifest } from './extension-id.ts'
import { settle, type BundledExtension, type LoaderOptions, type Settings } from './options.ts'
import { Pace } from './pace.ts'
import { proveBundled, proveFolder } from './pipeline.ts'
import { changedSince, findProjectFault, locateProjectLayer } from './project-layer.ts'
import { register } from './register/register.ts'
import type { Fault } from './result.ts'
import { SchemaCompiler } from './schema/schema-compiler.ts'
import { PackageSignatures } from './signature/package-signatures.ts'
import { Tally } from './tally.ts'
import { createTrustLedger } from './trust/trust-ledger.ts'

/** The loader port over folders. Throws ConfigInvalid for options that cannot be used. */
export function createLoader(options: LoaderOptions): Loader {
  const settings = settle(options)
  const tools: Tools = {
    schemas: new SchemaCompiler(settings.limits), signatures: new PackageSignatures(settings.trustRoot),
  }
  return {
    load: (request) => load(request, settings, tools),
    hasProjectLayer: async (workspace) => locateProjectLayer(workspace, settings).kind === 'folder',
    trust: createTrustLedger(settings),
  }
}

/** What is kept from one load to the next. */
type Tools = Pick<Terms, 'schemas' | 'signatures'>

async function load(request: LoadRequest, settings: Settings, tools: Tools): Promise<LoadReport> {
  const project = locateProjectLayer(request.workspace, settings)
  const fault = findProjectFault(project, request.trust)
  if (project.kind !== 'folder' || fault !== undefined) return (await gather(request, settings, tools, null, fault)).report
  const { report, projectDigest } = await gather(request, settings, tools, project.root, undefined)
  if (request.projectDigest === undefined || request.projectDigest === projectDigest) return report
  return (await gather(request, settings, tools, null, changedSince(project.root))).report
}

interface Gathered {
  readonly report: LoadReport
  /** Of what was read of the project. */
  readonly projectDigest: string
}

/** Everything of every layer; of the project only where its root is given. */
async function gather(
  { overrides }: LoadRequest, settings: Settings, tools: Tools, projectRoot: string | null, projectFault: Fault | undefined,
): Promise<Gathered> {
  const { config, diagnostics: configDiagnostics, projectFileDigest } = resolveConfig(settings, projectRoot, overrides)
  const terms: Terms = { coreVersion: settings.coreVersion, config, limits: settings.limits, ...tools, pace: new Pace() }
  const tally = new Tally()
  tally.diagnostics.push(...configDiagnostics)
  tally.addProjectPart(CONFIG_FILE, projectFileDigest)
  if (projectFault !== undefined) {
    // To decline is a decision, not a fault.
    const severity = projectFault.stage === 'trust' ? 'warning' : 'error'
    tally.diagnostics.push(diagnose({ layer: 'project', extensionId: null, location: projectFault.location ?? '' }, projectFault, severity))
  }

  for (const [index, bundled] of settings.bundled.entries()) {
    const located = locateBundled(bundled, index)
    tally.add(located, await proveBundled(bundled, located, terms))
  }
  for (const [layer, root] of [['global', settings.globalRoot], ['project', projectRoot]] as const) {
    if (root === null) continue
    const { found, refused, faults } = discover(layer, root, settings.limits.extensions)
    tally.diagnostics.push(...faults.map((fault) => diagnose({ layer, extensionId: null, location: root }, fault)))
    for (const { located, fault } of refused) {
      tally.addFolder(located, { proof: { kind: 'refused', id: idOfFolder(located), faults: [fault] }, digests: null })
    }
    for (const located of found) tally.addFolder(located, await proveFolder(located, terms))
  }

  const { admitted, refused } = register(tally.proven, tally.bundledTools)
  tally.diagnostics.push(...[...refused].map(([extension, fault]) =>
    diagnose({ layer: extension.layer, extensionId: extension.id, location: extension.location }, fault)))
  const report = Object.freeze({
    config, extensions: Object.freeze([...admitted]), diagnostics: Object.freeze([...withFallbacks(tally.diagnostics, admitted)]),
  })
  return { report, projectDigest: tally.projectDigest }
}

/** For people: a bundled extension stands nowhere, so it is named. */
function locateBundled({ manifest }: BundledExtension, index: number): Located {
  const name = `bundled:${idOfManifest(manifest) ?? index}`
  return { layer: 'bundled', location: name, part: name }
}
