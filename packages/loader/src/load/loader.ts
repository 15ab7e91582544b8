import {
  CONFIG_FILE, LOCK_FILE, mayLoad, type Loader, type LoadReport, type LoadRequest, type ProjectTrust,
} from '@bulkhead/contract'
import { PackageIndex } from '../cache/package-index.ts'
import { resolveConfig } from '../config/resolve-config.ts'
import { settle, type BundledExtension, type LoaderOptions, type Settings } from '../config/settings.ts'
import { idOfFolder, idOfManifest, type Located } from '../discover/extension-folders.ts'
import { locksOf, placesOf, type OpenProject, type Place } from '../discover/layer-sources.ts'
import { lockDigest, lockOf } from '../lock/layer-lock.ts'
import { diagnose, withFallbacks } from '../model/diagnostics.ts'
import type { Fault } from '../model/result.ts'
import { inOrder, Pace } from '../model/yielder.ts'
import type { Terms } from '../prove/package-policy.ts'
import { placed, proveBundled, proveFolder } from '../prove/pipeline.ts'
import { OwnSchemas, SchemaCourt } from '../schema/schema-checker.ts'
import { PackageSignatures } from '../signature/package-signatures.ts'
import { reportMaterial } from '../signature/trust-material.ts'
import { documentParts, readDocuments } from '../trust/project-digest.ts'
import { changedSince, findProjectFault, locateProjectLayer } from '../trust/project-layer.ts'
import { createTrustLedger } from '../trust/trust-ledger.ts'
import { connect } from './connect.ts'
import { Tally } from './load-report.ts'
import { register } from './register.ts'
import { watchLayers } from './watch.ts'

/** The loader port over folders. Throws ConfigInvalid for options that cannot be used. */
export function createLoader(options: LoaderOptions): Loader {
  const settings = settle(options)
  const { limits, trustRoot } = settings
  const tools: Tools = {
    schemas: new SchemaCourt(limits), ownSchemas: new OwnSchemas(limits), signatures: new PackageSignatures(trustRoot),
  }
  return {
    load: (request) => load(request, settings, tools),
    connect: (report, connected) => connect(report, connected, {
      schemas: tools.schemas, signatures: tools.signatures, coreVersion: settings.coreVersion, limits, locks: new Map(),
    }),
    hasProjectLayer: async (workspace) => locateProjectLayer(workspace, settings).kind === 'folder',
    trust: createTrustLedger(settings),
    watch(request, onChange) {
      locateProjectLayer(request.workspace, settings)
      return watchLayers(request, settings, onChange)
    },
  }
}

/** What is kept from one load to the next. */
interface Tools extends Pick<Terms, 'schemas' | 'signatures'> {
  readonly ownSchemas: OwnSchemas
}

async function load(request: LoadRequest, settings: Settings, tools: Tools): Promise<LoadReport> {
  const layer = locateProjectLayer(request.workspace, settings)
  const fault = findProjectFault(layer, request)
  if (layer.kind !== 'folder') return (await gather(request, settings, tools, null, fault)).report
  const { workspace, trust, projectDigest: decidedAbout } = request
  const decided = (report: LoadReport, decision: ProjectTrust): LoadReport =>
    Object.freeze({ ...report, projectTrust: Object.freeze({ path: workspace, trust: decision, projectDigest: decidedAbout }) })
  if (fault !== undefined) return decided((await gather(request, settings, tools, null, fault)).report, 'declined')
  const { report, projectDigest } = await gather(request, settings, tools, { workspace, root: layer.root }, undefined)
  if (mayLoad(projectDigest, request)) return decided(report, trust)
  return decided((await gather(request, settings, tools, null, changedSince(layer.root))).report, 'declined')
}

interface Gathered {
  readonly report: LoadReport
  /** Of what was read of the project. */
  readonly projectDigest: string
}

/** Everything of every layer; of the project only where it is given. */
async function gather(
  { overrides }: LoadRequest, settings: Settings, tools: Tools, project: OpenProject | null, projectFault: Fault | undefined,
): Promise<Gathered> {
  const { config, diagnostics: configDiagnostics, projectFileDigest } = resolveConfig(settings, project?.root ?? null, overrides)
  const locks = locksOf(settings, project)
  const { ownSchemas, ...ofStrangers } = tools
  const terms: Terms = { coreVersion: settings.coreVersion, config, limits: settings.limits, ...ofStrangers, locks, pace: new Pace() }
  const tally = new Tally()
  tally.diagnostics.push(...configDiagnostics)
  tally.addProjectPart(CONFIG_FILE, projectFileDigest)
  tally.addProjectPart(LOCK_FILE, lockDigest(lockOf(locks, 'project')))
  const ofProject = config.layers.find(({ layer }) => layer === 'project')
  const documents = project && ofProject ? readDocuments(ofProject.config, project.workspace, settings.limits) : new Map()
  tally.addProjectParts(documentParts(documents))
  if (projectFault !== undefined) {
    // To decline is a decision, not a fault.
    const severity = projectFault.stage === 'trust' ? 'warning' : 'error'
    const location = projectFault.location ?? ''
    tally.diagnostics.push(diagnose({ layer: 'project', extensionId: null, location }, projectFault, severity))
  }

  await addBundled(tally, settings, { ...terms, schemas: ownSchemas })
  for (const place of placesOf(settings, project, config.layers, locks)) await addPlace(tally, place, settings, terms)

  const { admitted, refused } = register(tally.proven, tally.bundledTools, tally.absent)
  tally.diagnostics.push(...[...refused].flatMap(([{ descriptor: { layer, id, location }, manifestAt }, fault]) =>
    placed([fault], manifestAt).map((at) => diagnose({ layer, extensionId: id, location }, at))))
  const extensions = admitted.map(({ descriptor }) => descriptor)
  const report = Object.freeze({
    config, extensions: Object.freeze(extensions), diagnostics: Object.freeze([...withFallbacks(tally.diagnostics, extensions)]),
    absent: tally.absentTools, projectDocuments: documents, trustRoot: reportMaterial(settings.trustRoot),
  })
  return { report, projectDigest: tally.projectDigest }
}

async function addBundled(tally: Tally, settings: Settings, terms: Terms): Promise<void> {
  const index = PackageIndex.open(settings.cache, settings.cacheKey, 'bundled')
  const located = settings.bundled(terms.config.merged).map((bundled, at) => ({ bundled, located: locateBundled(bundled, at) }))
  await inOrder(located, terms.pace, (one) => proveBundled(one.bundled, one.located, terms, index),
    (one, proof) => tally.add(one.located, proof))
  index.save()
}

async function addPlace(tally: Tally, { layer, root, discovery }: Place, settings: Settings, terms: Terms): Promise<void> {
  const { found, refused, faults } = discovery
  tally.diagnostics.push(...faults.map((fault) => diagnose({ layer, extensionId: null, location: root }, fault)))
  for (const { located, fault } of refused) {
    tally.addFolder(located, { proof: { kind: 'refused', id: idOfFolder(located), faults: [fault] }, digests: null })
  }
  // What ships with the host may ask for more, so what was proven of it there counts nowhere else.
  const index = PackageIndex.open(settings.cache, settings.cacheKey, layer === 'bundled' ? `bundled:${root}` : root)
  const remembered = await index.findAll(found, terms.pace)
  await inOrder(found, terms.pace, (located) => proveFolder(located, remembered.get(located.location), terms, index),
    (located, proof) => tally.addFolder(located, proof))
  index.save()
}

/** For people: a bundled extension stands nowhere, so it is named. */
function locateBundled({ manifest }: BundledExtension, index: number): Located {
  const name = `bundled:${idOfManifest(manifest) ?? index}`
  return { layer: 'bundled', location: name, part: name }
}
