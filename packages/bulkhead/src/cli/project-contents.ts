import { styleText } from 'node:util'
import { BulkheadError, type ConfigFile, type Diagnostic, type ExtensionDescriptor, type Loader } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { looseningSettings, type LooseningSetting } from '@bulkhead/loader'
import { diagnosticText } from './diagnostic-text.ts'
import { extensionJson, extensionLines, line } from './plan-text.ts'
import { UNCONFINED } from './power-words.ts'

/** The verified contents of a project layer. None of it has run. */
export interface ProjectContents {
  readonly path: string
  /** Digest of the whole layer. Trust decisions apply to this digest. */
  readonly digest: string
  readonly extensions: readonly ExtensionDescriptor[]
  readonly settings: readonly LooseningSetting[]
  readonly servers: readonly (readonly [name: string, server: NonNullable<ConfigFile['mcp']>[string]])[]
  readonly documents: readonly (readonly [name: string, document: NonNullable<ConfigFile['openapi']>[string]])[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Rejects with ProjectTrustRequired if the project changes during reading: the user must decide about what was shown. */
export async function readContents(loader: Loader, path: string): Promise<ProjectContents> {
  const digest = await loader.trust.measure(path)
  const { extensions, config, diagnostics } = await loader.load({ workspace: path, trust: 'once', projectDigest: digest })
  if (diagnostics.some(({ code }) => code === 'ProjectTrustRequired')) {
    throw new BulkheadError('ProjectTrustRequired', `"${path}" changed while it was read. Run the command again.`)
  }
  const own = config.layers.find(({ layer }) => layer === 'project')?.config ?? {}
  const below = (await loader.load({ workspace: path, trust: 'declined', projectDigest: digest })).config.merged
  return {
    path, digest,
    extensions: extensions.filter(({ layer }) => layer === 'project'),
    settings: looseningSettings(own, below),
    servers: Object.entries(own.mcp ?? {}).filter(([, { enabled }]) => enabled !== false),
    documents: Object.entries(own.openapi ?? {}).filter(([, { enabled }]) => enabled !== false),
    diagnostics: diagnostics.filter(({ layer }) => layer === 'project'),
  }
}

export function contentsText({ path, digest, extensions, settings, servers, documents, diagnostics }: ProjectContents): string {
  const lines = [
    ...extensions.flatMap(extensionLines),
    ...settings.map((setting) => line('setting', settingWords(setting))),
    ...servers.map(([name, server]) => line('server', `${name}: ${serverWords(server)}`)),
    ...documents.map(([name, { document, baseUrl, auth }]) => line('document',
      `${name}: ${document}, sent to ${baseUrl ?? 'the server that it names'}${auth ? ` with the secret ${auth.secret}` : ''}`)),
  ]
  const heading = `${styleText('bold', visibleText(path))} brings${lines.length === 0 ? ' no tools and loosens no settings' : ''} (content ${digest.slice(0, 12)}):`
  return [lines.length === 0 ? heading.slice(0, -1) : heading, ...lines, '', ...diagnostics.map((found) => diagnosticText(found, process.stderr))].join('\n')
}

export const contentsJson = ({ digest, extensions, settings, servers, documents, diagnostics }: ProjectContents): object => ({
  digest, extensions: extensions.map(extensionJson), settings: settings.map(({ before, ...rest }) => ({ ...rest, before: before ?? null })),
  servers: servers.map(([name, server]) => ({ name, ...server, ...(server.type === 'local' && { confined: false }) })),
  documents: documents.map(([name, document]) => ({ name, ...document })), diagnostics,
})

const settingWords = ({ path, value, before }: LooseningSetting): string =>
  `${path.slice(1).replaceAll('/', '.')} = ${JSON.stringify(value)}${before === undefined ? '' : ` instead of ${JSON.stringify(before)}`}`

function serverWords(server: NonNullable<ConfigFile['mcp']>[string]): string {
  if (server.type === 'remote') {
    const secrets = Object.values(server.headers ?? {}).map(({ secret }) => secret)
    return `reaches ${server.url}${secrets.length === 0 ? '' : ` with the secrets ${secrets.join(', ')}`}`
  }
  const given = server.env?.length ? `, with the variables ${server.env.join(', ')}` : ''
  return `starts ${server.command.map((part) => JSON.stringify(part)).join(' ')}${given}; ${UNCONFINED}`
}
