import {
  EXTENSION_ID_PATTERN, type Diagnostic, type ExtensionDescriptor, type Loader, type LoadReport, type LoadRequest, type ToolManifest,
} from '@bulkhead/contract'
import { resolveConfig } from './config/resolve-config.ts'
import { diagnose, withFallbacks } from './diagnose.ts'
import { discover } from './discover.ts'
import type { Located, Terms } from './extension.ts'
import { settle, type BundledExtension, type LoaderOptions, type Settings } from './options.ts'
import { Pace } from './pace.ts'
import { proveBundled, proveFolder, type Proof } from './pipeline.ts'
import { findProjectFault, locateProjectLayer } from './project-layer.ts'
import { register } from './register/register.ts'
import { SchemaCompiler } from './schema/schema-compiler.ts'

/** The loader port over folders. Throws ConfigInvalid for options that cannot be used. */
export function createLoader(options: LoaderOptions): Loader {
  const settings = settle(options)
  const schemas = new SchemaCompiler(settings.limits)
  return {
    load: (request) => load(request, settings, schemas),
    hasProjectLayer: async (workspace) => locateProjectLayer(workspace, settings).kind === 'folder',
  }
}

async function load({ workspace, trust, overrides }: LoadRequest, settings: Settings, schemas: SchemaCompiler): Promise<LoadReport> {
  const project = locateProjectLayer(workspace, settings)
  const projectFault = findProjectFault(project, trust)
  const projectRoot = project.kind === 'folder' && projectFault === undefined ? project.root : null

  const { config, diagnostics: configDiagnostics } = resolveConfig(settings, projectRoot, overrides)
  const diagnostics: Diagnostic[] = [...configDiagnostics]
  if (projectFault !== undefined) {
    diagnostics.push(diagnose({ layer: 'project', extensionId: null, location: workspace }, projectFault, project.kind === 'folder' ? 'warning' : 'error'))
  }

  const terms: Terms = { coreVersion: settings.coreVersion, config, limits: settings.limits, schemas, pace: new Pace() }
  const proven: ExtensionDescriptor[] = []
  const bundledTools = new Map<string, ToolManifest>()
  const weigh = (located: Located, proof: Proof): void => {
    const subject = (extensionId: string | null) => ({ layer: located.layer, location: located.location, extensionId })
    if (proof.kind === 'refused') diagnostics.push(...proof.faults.map((fault) => diagnose(subject(proof.id), fault)))
    if (proof.kind === 'proven') {
      proven.push(proof.descriptor)
      diagnostics.push(...proof.warnings.map((fault) => diagnose(subject(proof.descriptor.id), fault, 'warning')))
    }
    const manifest = proof.kind === 'proven' ? proof.descriptor.manifest : proof.kind === 'disabled' ? proof.manifest : undefined
    if (located.layer === 'bundled') for (const tool of manifest?.tools ?? []) bundledTools.set(tool.name, tool)
  }

  for (const [index, bundled] of settings.bundled.entries()) {
    const located = locateBundled(bundled, index)
    weigh(located, await proveBundled(bundled, located, terms))
  }
  for (const [layer, root] of [['global', settings.globalRoot], ['project', projectRoot]] as const) {
    if (root === null) continue
    const { found, faults } = discover(layer, root, settings.limits.extensions)
    diagnostics.push(...faults.map((fault) => diagnose({ layer, extensionId: null, location: root }, fault)))
    for (const located of found) weigh(located, await proveFolder(located, terms))
  }

  const { admitted, refused } = register(proven, bundledTools)
  diagnostics.push(...[...refused].map(([extension, fault]) =>
    diagnose({ layer: extension.layer, extensionId: extension.id, location: extension.location }, fault)))
  return Object.freeze({
    config, extensions: Object.freeze([...admitted]), diagnostics: Object.freeze([...withFallbacks(diagnostics, admitted)]),
  })
}

/** For people: a bundled extension stands nowhere, so it is named. */
function locateBundled({ manifest }: BundledExtension, index: number): Located {
  const id = typeof manifest === 'object' && manifest !== null && 'id' in manifest ? manifest.id : undefined
  return { layer: 'bundled', location: `bundled:${typeof id === 'string' && EXTENSION_ID_PATTERN.test(id) ? id : index}` }
}
