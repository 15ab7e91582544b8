import {
  BulkheadError, CONFIG_FILE, LOCK_FILE, mayLoad, type Diagnostic, type ExtensionDescriptor, type Loader,
  type LoadReport, type LoadRequest, type Manifest, type ProjectTrust, type ResolvedConfig, type ToolManifest,
} from '@bulkhead/contract'
import { PackageIndex } from '../cache/package-index.ts'
import { resolveConfig } from '../config/resolve-config.ts'
import { resolveSettings, type BundledExtension, type LoaderOptions, type Settings } from '../config/settings.ts'
import type { ProofContext } from '../describe/extension.ts'
import { readAgents } from '../discover/agents.ts'
import { idOfFolder, idOfManifest, type ExtensionCandidate } from '../discover/extension-folders.ts'
import { layerSources, locksOf, type LayerSource, type OpenProject } from '../discover/layer-sources.ts'
import { chooseSkills, readProjectSkills, readUserSkills, type LayerSkills } from '../discover/skills.ts'
import { lockDigest, lockOf } from '../lock/lock-file.ts'
import { diagnose, withFallbacks, type Fault } from '../model/result.ts'
import { packageDigest } from '../model/digest.ts'
import { inOrder, Yielder } from '../model/yielder.ts'
import { placed, proveBundled, proveFolder, proveModule, type FolderProof, type Proof, type Proven } from '../prove/pipeline.ts'
import { InProcessSchemaChecker, UNCHECKED, WorkerSchemaChecker, type SchemaChecker } from '../schema/schema-checker.ts'
import { PackageSignatures, reportMaterial } from '../signature/package-signatures.ts'
import {
  changedSince, documentParts, findProjectFault, isDisabling, locateProjectLayer, npmrcParts, partsOf, projectDigest,
  readDocuments, type ProjectPart,
} from '../trust/project-layer.ts'
import { createTrustLedger } from '../trust/trust-ledger.ts'
import { connect } from './connect.ts'
import { register } from './register.ts'
import { watchLayers } from './watch.ts'

export interface FolderLoader extends Loader {
  /**
   * Checks an extension that is part of the program, as `load` checks bundled ones. Resolves with undefined if the
   * configuration disables it. Rejects with the code of the first fault.
   */
  describe(extension: BundledExtension, config: ResolvedConfig): Promise<ExtensionDescriptor | undefined>
}

/** Implements the loader port over folders. Throws ConfigInvalid for options that cannot be used. */
export function createLoader(options: LoaderOptions): FolderLoader {
  const settings = resolveSettings(options)
  return loaderWith(settings, new InProcessSchemaChecker(settings.limits))
}

/**
 * What is installed, as a loader reports it. Bundled extensions are not verified, only named. Writes nothing to the
 * cache.
 */
export const loadInstalled = (options: LoaderOptions, request: LoadRequest): Promise<LoadReport> =>
  loaderWith({ ...resolveSettings(options), cache: null }, UNCHECKED).load(request)

function loaderWith(settings: Settings, bundledSchemas: SchemaChecker): FolderLoader {
  const { limits, trustRoot } = settings
  const tools: Tools = {
    schemas: new WorkerSchemaChecker(limits), bundledSchemas, signatures: new PackageSignatures(trustRoot),
  }
  return {
    load: (request) => load(request, settings, tools),
    connect: (report, connected) => connect(report, connected, {
      schemas: tools.schemas, signatures: tools.signatures, coreVersion: settings.coreVersion, limits, locks: new Map(),
    }),
    async describe(extension, config) {
      const { coreVersion } = settings
      const proof = await proveModule(extension, bundledCandidate(extension, 0), {
        coreVersion, config, limits, schemas: tools.bundledSchemas, signatures: tools.signatures, locks: new Map(),
        yielder: new Yielder(),
      })
      if (proof.kind === 'proven') return proof.descriptor
      if (proof.kind === 'disabled') return undefined
      const [{ code, message, path }] = proof.faults as [Fault]
      throw new BulkheadError(code, message, { data: { path } })
    },
    hasProjectLayer: async (workspace) => locateProjectLayer(workspace, settings).kind === 'folder',
    trust: createTrustLedger(settings),
    watch(request, onChange) {
      locateProjectLayer(request.workspace, settings)
      return watchLayers(request, settings, onChange)
    },
  }
}

/** Kept between loads. */
interface Tools extends Pick<ProofContext, 'schemas' | 'signatures'> {
  readonly bundledSchemas: SchemaChecker
}

async function load(request: LoadRequest, settings: Settings, tools: Tools): Promise<LoadReport> {
  const layer = locateProjectLayer(request.workspace, settings)
  const fault = findProjectFault(layer, request)
  if (layer.kind !== 'folder') {
    const unusable = isDisabling(layer, request) ? layer.root : undefined
    return (await loadLayers(request, settings, tools, null, fault, unusable)).report
  }
  const { workspace, trust, projectDigest: decidedAbout } = request
  const decided = (report: LoadReport, decision: ProjectTrust): LoadReport =>
    Object.freeze({
      ...report, projectTrust: Object.freeze({ path: workspace, trust: decision, projectDigest: decidedAbout }),
    })
  if (fault !== undefined) return decided((await loadLayers(request, settings, tools, null, fault)).report, 'declined')
  const loaded = await loadLayers(request, settings, tools, { workspace, root: layer.folder }, undefined)
  if (mayLoad(loaded.projectDigest, request)) return decided(loaded.report, trust)
  return decided((await loadLayers(request, settings, tools, null, changedSince(layer.root))).report, 'declined')
}

interface Loaded {
  readonly report: LoadReport
  /** The digest of the parts of the project that were read. */
  readonly projectDigest: string
}

/** Loads all layers. The project layer only where `project` is given. `unusable`: a project folder that disables. */
async function loadLayers(
  { workspace, overrides }: LoadRequest, settings: Settings, tools: Tools, project: OpenProject | null,
  projectFault: Fault | undefined, unusable?: string,
): Promise<Loaded> {
  const { config, diagnostics: configDiagnostics, projectFileDigest } = resolveConfig(
    settings, project?.root ?? (unusable === undefined ? null : { unusable }), overrides,
  )
  const locks = locksOf(settings, project)
  const { coreVersion, limits } = settings
  const { bundledSchemas, schemas, signatures } = tools
  const context: ProofContext = { coreVersion, config, limits, schemas, signatures, locks, yielder: new Yielder() }
  const ofProject = config.layers.find(({ layer }) => layer === 'project')
  const documents = project && ofProject ? readDocuments(ofProject.config, project.workspace, limits) : new Map()
  const userAgents = readAgents('global', settings.globalRoot, limits)
  const projectAgents = readAgents('project', project?.root ?? null, limits)
  const userSkills = await readUserSkills(settings, context.yielder)
  const projectSkills = project
    ? await readProjectSkills(project.workspace, ofProject?.config ?? {}, settings, context.yielder) : NO_SKILLS
  const chosen = chooseSkills([...userSkills.skills, ...projectSkills.skills])
  const builder = new LoadReportBuilder()
  builder.diagnostics.push(
    ...configDiagnostics, ...userAgents.diagnostics, ...projectAgents.diagnostics, ...userSkills.diagnostics,
    ...projectSkills.diagnostics, ...chosen.diagnostics,
  )
  builder.addProjectParts(
    { name: CONFIG_FILE, digest: projectFileDigest }, { name: LOCK_FILE, digest: lockDigest(lockOf(locks, 'project')) },
    ...documentParts(documents), ...(project ? npmrcParts(project.workspace) : []),
    ...partsOf(projectAgents), ...partsOf(projectSkills),
  )
  if (projectFault !== undefined) {
    // A declined project is a decision, not an error.
    const severity = projectFault.stage === 'trust' ? 'warning' : 'error'
    const location = projectFault.location ?? ''
    builder.diagnostics.push(diagnose({ layer: 'project', extensionId: null, location }, projectFault, severity))
  }

  await addBundled(builder, settings, workspace, { ...context, schemas: bundledSchemas })
  for (const source of layerSources(settings, project, config.layers, locks)) {
    await addSource(builder, source, settings, context)
  }

  const { admitted, refused } = register(builder.proven, builder.bundledTools, builder.absent)
  builder.diagnostics.push(...[...refused].flatMap(([{ descriptor: { layer, id, location }, manifestAt }, fault]) =>
    placed([fault], manifestAt).map((at) => diagnose({ layer, extensionId: id, location }, at))))
  const extensions = admitted.map(({ descriptor }) => descriptor)
  const report = Object.freeze({
    config, extensions: Object.freeze(extensions), agents: [...userAgents.agents, ...projectAgents.agents],
    skills: chosen.skills,
    diagnostics: Object.freeze([...withFallbacks(builder.diagnostics, extensions)]),
    absent: builder.absentTools, projectDocuments: documents, trustRoot: reportMaterial(settings.trustRoot),
  })
  return { report, projectDigest: builder.projectDigest }
}

const NO_SKILLS: LayerSkills = { skills: [], diagnostics: [], digests: new Map() }

async function addBundled(
  builder: LoadReportBuilder, settings: Settings, workspace: string, context: ProofContext,
): Promise<void> {
  const index = PackageIndex.open(settings.cache, settings.cacheKey, 'bundled')
  const candidates = settings.bundled(context.config.merged, workspace).map((bundled, at) => ({
    bundled, candidate: bundledCandidate(bundled, at),
  }))
  await inOrder(candidates, context.yielder, (one) => proveBundled(one.bundled, one.candidate, context, index),
    (one, proof) => builder.add(one.candidate, proof))
  index.save()
}

async function addSource(
  builder: LoadReportBuilder, { layer, root, discovery }: LayerSource, settings: Settings, context: ProofContext,
): Promise<void> {
  const { found, refused, faults } = discovery
  builder.diagnostics.push(...faults.map((fault) => diagnose({ layer, extensionId: null, location: root }, fault)))
  for (const { candidate, fault } of refused) {
    builder.addFolder(candidate, {
      proof: { kind: 'refused', id: idOfFolder(candidate), faults: [fault] }, digests: null,
    })
  }
  // Bundled extensions may require more than others, so their results must not be used for another layer.
  const index = PackageIndex.open(settings.cache, settings.cacheKey, layer === 'bundled' ? `bundled:${root}` : root)
  const cached = await index.findAll(found, context.yielder)
  const prove = (candidate: ExtensionCandidate) =>
    proveFolder(candidate, cached.get(candidate.location), context, index)
  await inOrder(found, context.yielder, prove, (candidate, proof) => builder.addFolder(candidate, proof))
  index.save()
}

/** A bundled extension has no folder, so its name is its location. */
function bundledCandidate({ manifest }: BundledExtension, index: number): ExtensionCandidate {
  const name = `bundled:${idOfManifest(manifest) ?? index}`
  return { layer: 'bundled', location: name, part: name }
}

/** Collects the results of a load. */
class LoadReportBuilder {
  readonly proven: Proven[] = []
  readonly diagnostics: Diagnostic[] = []
  /** Bundled tools by name, including those of disabled extensions: their names stay locked. */
  readonly bundledTools = new Map<string, ToolManifest>()
  /** Why an extension that was found is not proven, by id. Continues a sentence. */
  readonly absent = new Map<string, string>()
  /** The known tools of these extensions. */
  readonly absentTools = new Map<string, readonly string[]>()
  readonly #projectParts: ProjectPart[] = []

  /** The digest of the parts of the project that were read. */
  get projectDigest(): string {
    return projectDigest(this.#projectParts)
  }

  addProjectParts(...parts: readonly ProjectPart[]): void {
    this.#projectParts.push(...parts)
  }

  addFolder(candidate: ExtensionCandidate, { proof, digests }: FolderProof): void {
    if (candidate.layer === 'project') {
      this.addProjectParts({ name: candidate.part, digest: digests === null ? null : packageDigest(digests()) })
    }
    this.add(candidate, proof)
  }

  add({ layer, location }: ExtensionCandidate, proof: Proof): void {
    const subject = (extensionId: string | null) => ({ layer, location, extensionId })
    if (proof.kind === 'refused') {
      this.diagnostics.push(...proof.faults.map((fault) => diagnose(subject(proof.id), fault)))
      const [first] = proof.faults
      if (proof.id !== null && first !== undefined) {
        this.absent.set(proof.id, `was refused (${first.code})`)
        this.absentTools.set(proof.id, [])
      }
      return
    }
    if (layer === 'bundled') for (const tool of manifestOf(proof).tools) this.bundledTools.set(tool.name, tool)
    if (proof.kind === 'disabled') {
      this.absent.set(proof.id, 'is disabled by the configuration')
      this.absentTools.set(proof.id, manifestOf(proof).tools.map(({ name }) => name))
      return
    }
    this.proven.push(proof)
    this.diagnostics.push(...proof.warnings.map((fault) => diagnose(subject(proof.outline.id), fault, 'warning')))
  }
}

const manifestOf = (proof: Exclude<Proof, { kind: 'refused' }>): Manifest =>
  proof.kind === 'proven' ? proof.descriptor.manifest : proof.info.manifest()
