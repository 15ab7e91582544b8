import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Diagnostic, ExtensionDescriptor, Loader, LoadReport } from '@bulkhead/contract'

/** A loader with one fault, and the requirements that it breaks. All others of their groups hold. */
export interface FaultyLoader {
  readonly breaks: readonly string[]
  readonly wrap: (loader: Loader) => Loader
}

const reporting = (change: (report: LoadReport) => LoadReport | Promise<LoadReport>) => (loader: Loader): Loader =>
  ({ ...loader, load: async (request) => change(await loader.load(request)) })
const extensions = (change: (extensions: readonly ExtensionDescriptor[]) => readonly ExtensionDescriptor[]) =>
  reporting((report) => ({ ...report, extensions: change(report.extensions) }))
const each = (change: (extension: ExtensionDescriptor) => Partial<ExtensionDescriptor>) =>
  extensions((all) => all.map((one) => Object.freeze({ ...one, ...change(one) })))
const diagnostics = (change: (diagnostics: readonly Diagnostic[]) => readonly Diagnostic[]) =>
  reporting((report) => ({ ...report, diagnostics: change(report.diagnostics) }))
/** Loads extensions that it should refuse. */
const accepting = (...ids: readonly string[]) =>
  extensions((all) => [...all, ...ids.map((id) => Object.freeze({ ...all[0]!, layer: 'global' as const, id }))])
const accepts = (requirement: string, ...ids: readonly string[]): FaultyLoader =>
  ({ breaks: [requirement], wrap: accepting(...ids) })
const random = (): string => randomBytes(64).toString('hex')

async function execute({ code, location }: ExtensionDescriptor): Promise<void> {
  if (code.kind === 'files') await import(pathToFileURL(join(location, 'index.js')).href)
}

export const FAULTY_LOADERS: Readonly<Record<string, FaultyLoader>> = {
  'takes the folder name for the id': {
    breaks: ['loader-finds'],
    wrap: extensions((all) => all.filter(({ id }) => id !== 'alpha')),
  },
  'loads dot folders': accepts('loader-finds-only', 'staging'),
  'sorts backwards': { breaks: ['loader-order'], wrap: extensions((all) => all.toReversed()) },
  'imports modules': {
    breaks: ['loader-runs-nothing'],
    wrap: reporting(async (report) => {
      for (const extension of report.extensions) await execute(extension)
      return report
    }),
  },
  'follows links': { breaks: ['loader-finds-only', 'loader-links'], wrap: accepting('linked') },
  'skips links without a word': {
    breaks: ['loader-links'],
    wrap: diagnostics((all) => all.filter(({ extensionId }) => extensionId !== 'linked')),
  },
  'hands out manifests as they are written': {
    breaks: ['loader-manifest'],
    wrap: each(({ manifest }) => ({ manifest: Object.freeze({ ...manifest, main: undefined! }) })),
  },
  'shortens digests': {
    breaks: ['loader-digests'],
    wrap: each(({ digests }) => ({ digests: { ...digests, package: digests.package.slice(64) } })),
  },
  'salts digests': {
    breaks: ['loader-repeatable'],
    wrap: each(({ digests }) => ({ digests: { ...digests, capability: random() } })),
  },
  'does not freeze': { breaks: ['loader-frozen'], wrap: extensions((all) => all.map((one) => ({ ...one }))) },
  'sees a project layer everywhere': {
    breaks: ['loader-project-layer'],
    wrap: (loader) => ({ ...loader, hasProjectLayer: async () => true }),
  },

  'ignores integrity files': accepts('loader-integrity', 'changed', 'extra'),
  'calls every package verified': {
    breaks: ['loader-integrity-status'],
    wrap: each(() => ({ integrity: 'verified' })),
  },
  'adds a file': {
    breaks: ['loader-bytes'],
    wrap: each(({ code }) => code.kind === 'files'
      ? { code: {
        kind: 'files', readFiles: async () => new Map([...await code.readFiles(), ['more.js', new Uint8Array()]]),
      } } : {}),
  },
  'keeps the bytes of the first read': {
    breaks: ['loader-bytes-changed'],
    wrap: each(({ code }) => {
      if (code.kind !== 'files') return {}
      let files: ReturnType<typeof code.readFiles> | undefined
      return { code: { kind: 'files', readFiles: () => (files ??= code.readFiles()) } }
    }),
  },

  'accepts any manifest': accepts('loader-shape', 'bad-shape', 'bad-key'),
  'takes the last of two keys': accepts('loader-duplicate-key', 'twin-key'),
  'ignores the contract version': accepts('loader-contract-version', 'new-contract'),
  'ignores the core version': accepts('loader-core-version', 'new-core'),
  'compiles no schemas': accepts('loader-schemas', 'bad-schema'),
  'checks no configurations': accepts('loader-config', 'bad-config'),
  'drops unknown keys': {
    breaks: ['loader-config-keys'],
    wrap: diagnostics((all) => all.filter(({ code }) => code !== 'ConfigInvalid')),
  },
  'keeps the first of two ids': accepts('loader-same-id', 'same'),
  'keeps the first of two tools': accepts('loader-same-tool', 'twin-a'),
  'lends locked names': accepts('loader-locked-name', 'locked'),
  'ignores dependencies': accepts('loader-dependencies', 'lonely', 'ring-a', 'ring-b'),
  'goes on after a fault': {
    breaks: ['loader-first-fault'],
    wrap: diagnostics((all) => [
      ...all, { ...all.find(({ extensionId }) => extensionId === 'many-faults')!, stage: 'register' },
    ]),
  },
  'knows no cures': {
    breaks: ['loader-diagnostics'],
    wrap: diagnostics((all) => all.map((one) => ({ ...one, cure: '' }))),
  },
  'gives up on the first fault': { breaks: ['loader-others-load', 'loader-fallback'], wrap: extensions(() => []) },
  'falls back without a word': {
    breaks: ['loader-fallback'], wrap: diagnostics((all) => all.map(({ fallbackTo: _, ...one }) => one)),
  },
  'loads what is disabled': accepts('loader-disabled', 'off'),
  'loads a workspace that does not exist': {
    breaks: ['loader-workspace'],
    wrap: (loader) => ({
      ...loader, load: (request) => loader.load(request)
        .catch((): LoadReport => ({ config: { merged: {}, layers: [] }, extensions: [], diagnostics: [] })),
    }),
  },

  'trusts every project': {
    breaks: ['loader-declined', 'loader-trust-changed'],
    wrap: (loader) => ({
      ...loader, load: (request) => loader.load({ ...request, trust: 'trusted', projectDigest: 'any' }),
    }),
  },
  'stores no decision': {
    breaks: [
      'loader-trust-recorded', 'loader-trust-changed', 'loader-trust-scope', 'loader-trust-list', 'loader-trust-once',
    ],
    wrap: (loader) => ({
      ...loader, trust: {
        ...loader.trust, decide: async (path, decision) =>
          ({ path, decision, decidedAt: '2026-01-01T00:00:00.000Z', digest: await loader.trust.measure(path) }),
      },
    }),
  },
  'uses up nothing': {
    breaks: ['loader-trust-once'],
    wrap: (loader) => ({ ...loader, trust: { ...loader.trust, takeUp: async () => true } }),
  },
  'revokes nothing': {
    breaks: ['loader-trust-revoked', 'loader-trust-list'],
    wrap: (loader) => ({
      ...loader, trust: {
        ...loader.trust,
        decide: (path, decision, seen) =>
          loader.trust.decide(path, decision === 'revoked' ? 'trusted' : decision, seen),
      },
    }),
  },

  'takes every content for the one that was seen': {
    breaks: ['loader-trust-scope'],
    wrap: (loader) => ({
      ...loader, trust: { ...loader.trust, decide: (path, decision) => loader.trust.decide(path, decision) },
    }),
  },
  'lists no decisions': {
    breaks: ['loader-trust-list'],
    wrap: (loader) => ({ ...loader, trust: { ...loader.trust, list: async () => ({ records: [], diagnostics: [] }) } }),
  },

  'names no layer': {
    breaks: ['loader-watch'],
    wrap: (loader) => ({ ...loader, watch: (request, changed) => loader.watch(request, () => changed([])) }),
  },
  'watches on': {
    breaks: ['loader-watch-stops'],
    wrap: (loader) => {
      let first: (() => void) | undefined
      return {
        ...loader, watch: (request, changed) => {
          first ??= () => changed(['global'])
          return loader.watch(request, (layers) => {
            first!()
            changed(layers)
          })
        },
      }
    },
  },

  'forgets packages for servers': {
    breaks: ['loader-connect'],
    wrap: (loader) => ({
      ...loader, connect: async (report, servers) => {
        const connected = await loader.connect(report, servers)
        return { ...connected, extensions: connected.extensions.filter(({ server }) => server) }
      },
    }),
  },
  'takes all tools of a server or none': {
    breaks: ['loader-connect', 'loader-connect-faults'],
    wrap: (loader) => ({ ...loader, connect: async (report) => report }),
  },
}
