import type { Layer, Loader, LoadReport, LoadRequest } from '@bulkhead/contract'
import { resolveConfig } from './config/resolve-config.ts'
import { diagnose, withFallbacks } from './diagnose.ts'
import { discover } from './discover.ts'
import type { Located, Terms } from './extension.ts'
import { idOfFolder, idOfManifest } from './extension-id.ts'
import { settle, type BundledExtension, type LoaderOptions, type Settings } from './options.ts'
import { discoverInstalled } from './lock/installed-folders.ts'
import { lockOf, NO_LOCK, readLayerLock } from './lock/layer-lock.ts'
import { Pace } from './pace.ts'
import { proveBundled, proveFolder } from './pipeline.ts'
import { findProjectFault, locateProjectLayer } from './project-layer.ts'
import { register } from './register/register.ts'
import { SchemaCompiler } from './schema/schema-compiler.ts'
import { PackageSignatures } from './signature/package-signatures.ts'
import { reportMaterial } from './signature/trust-material.ts'
import { Tally } from './tally.ts'

/** The loader port over folders. Throws ConfigInvalid for options that cannot be used. */
export function createLoader(options: LoaderOptions): Loader {
  const settings = settle(options)
  const tools: Tools = {
    schemas: new SchemaCompiler(settings.limits), signatures: new PackageSignatures(settings.trustRoot),
  }
  return {
    load: (request) => load(request, settings, tools),
    hasProjectLayer: async (workspace) => locateProjectLayer(workspace, settings).kind === 'folder',
  }
}

/** What is kept from one load to the next. */
type Tools = Pick<Terms, 'schemas' | 'signatures'>

async function load(request: LoadRequest, settings: Settings, tools: Tools): Promise<LoadReport> {
  const { workspace, trust, overrides } = request
  const project = locateProjectLayer(workspace, settings)
  const projectFault = findProjectFault(project, trust)
  const projectRoot = project.kind === 'folder' && projectFault === undefined ? project.root : null

  const { config, diagnostics: configDiagnostics } = resolveConfig(settings, projectRoot, overrides)
  const roots = new Map<Layer, string | null>([['global', settings.globalRoot], ['project', projectRoot]])
  const locks = new Map([...roots].map(([layer, root]) => [layer, root === null ? NO_LOCK : readLayerLock(root, settings.limits)]))
  const terms: Terms = { coreVersion: settings.coreVersion, config, limits: settings.limits, ...tools, locks, pace: new Pace() }
  const tally = new Tally()
  tally.diagnostics.push(...configDiagnostics)
  if (projectFault !== undefined) {
    // To decline is a decision, not a fault.
    const severity = projectFault.stage === 'trust' ? 'warning' : 'error'
    tally.diagnostics.push(diagnose({ layer: 'project', extensionId: null, location: project.root }, projectFault, severity))
  }

  for (const [index, bundled] of settings.bundled(config.merged).entries()) {
    const located = locateBundled(bundled, index)
    tally.add(located, await proveBundled(bundled, located, terms))
  }
  for (const [layer, root] of roots) {
    if (root === null) continue
    const own = discover(layer, root, settings.limits.extensions)
    for (const { found, refused, faults } of [own, discoverInstalled(layer, root, lockOf(locks, layer))]) {
      tally.diagnostics.push(...faults.map((fault) => diagnose({ layer, extensionId: null, location: root }, fault)))
      for (const { located, fault } of refused) tally.add(located, { kind: 'refused', id: idOfFolder(located), faults: [fault] })
      for (const located of found) tally.add(located, await proveFolder(located, terms))
    }
  }

  const { admitted, refused } = register(tally.proven, tally.bundledTools)
  tally.diagnostics.push(...[...refused].map(([extension, fault]) =>
    diagnose({ layer: extension.layer, extensionId: extension.id, location: extension.location }, fault)))
  return Object.freeze({
    config, extensions: Object.freeze([...admitted]), diagnostics: Object.freeze([...withFallbacks(tally.diagnostics, admitted)]),
    trustRoot: reportMaterial(settings.trustRoot),
  })
}

/** For people: a bundled extension stands nowhere, so it is named. */
const locateBundled = ({ manifest }: BundledExtension, index: number): Located =>
  ({ layer: 'bundled', location: `bundled:${idOfManifest(manifest) ?? index}` })
