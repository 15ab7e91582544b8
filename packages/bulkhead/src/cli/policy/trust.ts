import { resolve } from 'node:path'
import { styleText } from 'node:util'
import {
  BulkheadError, type AgentDescriptor, type ConfigFile, type Diagnostic, type ExtensionDescriptor,
  type LanguageServerConfig, type Loader, type LocalServerConfig, type SkillDescriptor, type TrustDecision,
  type TrustRecord, type TrustStatus,
} from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { createLoader, looseningSettings, reviewNpmrc, type LooseningSetting } from '@bulkhead/loader'
import { homeFolder } from '../../facade/folders.ts'
import { loaderOptions } from '../../facade/loader-options.ts'
import { shadowsOf, toolsOfProject, type Shadows } from '../../facade/project-tools.ts'
import { defineCommand, UsageError } from '../command.ts'
import { agreeToProject, extensionJson, extensionLines, line, readConsent } from '../review.ts'
import { diagnosticText, documentWords, grantPhrases, jsonText, printJson, table, UNCONFINED } from '../output.ts'
import { HOME_OPTIONS } from '../host-options.ts'

const DECISIONS = {
  decline: 'declined', once: 'once', revoke: 'revoked',
} as const satisfies Record<string, TrustDecision>

export const trust = defineCommand({
  usage: '[PATH] [--decline | --revoke | --status | --list]',
  operands: { PATH: { text: 'project folder (default: this folder); same as --workspace PATH', completes: 'folder' } },
  options: {
    workspace: { type: 'string' },
    once: { type: 'boolean', text: 'trust the project for the next start only' },
    yes: { type: 'boolean', short: 'y', text: 'agree without a prompt' },
    accept: {
      type: 'string', value: 'DIGEST', text: 'agree only if the content has this digest (12 characters or more)',
    },
    status: { type: 'boolean', text: "show the decision and the project's contents; change nothing" },
    decline: { type: 'boolean', text: 'do not use the project, and do not ask again until it changes' },
    revoke: { type: 'boolean', text: 'remove the decision' },
    list: { type: 'boolean', text: 'list the decisions for all projects' },
    json: HOME_OPTIONS.json,
    home: {
      ...HOME_OPTIONS.home, text: 'folder of the global layer, where decisions are stored (default: ~/.bulkhead)',
    },
  },
  details: `Shows the tools of the project, their permissions, its skills, the settings it loosens, the servers it would
start, what its agents say to a model and what its .npmrc would do, then asks whether to trust it. No project code runs
before that. Trust applies to this content: if the project changes, you are asked again.`,
  exits: ['if the decision was stored or shown', 'if you did not agree'],
  examples: [
    { command: 'bulkhead trust --status', text: 'what this project contains, and what you decided' },
    { command: 'bulkhead trust --yes', text: 'trust this folder as it is now' },
    { command: 'bulkhead trust --list', text: 'your decisions about all projects' },
  ],

  async run({ values, positionals }) {
    const asked = (['decline', 'once', 'revoke', 'status', 'list'] as const).filter((name) => values[name])
    if (asked.length > 1) {
      throw new UsageError(`${asked.map((name) => `--${name}`).join(' and ')} cannot be used together.`)
    }
    const paths = [...positionals, ...(values.workspace === undefined ? [] : [values.workspace])]
    if (paths.length > 1) throw new UsageError(`Unexpected argument "${paths.slice(1).join(' ')}". Name one project.`)
    const [what] = asked
    const isConsent = what === undefined || what === 'once'
    if (!isConsent && (values.yes || values.accept !== undefined)) {
      throw new UsageError(`--yes and --accept cannot be used with --${what}.`)
    }
    const consent = readConsent(values, '--status')
    const loader = createLoader(loaderOptions(homeFolder(values.home)))
    if (what === 'list') return list(loader, values.json === true)
    const path = resolve(paths[0] ?? '.')
    if (what === 'status') return showStatus(loader, path, values.json === true)
    let seen: string | undefined
    if (isConsent && await loader.hasProjectLayer(path)) {
      const contents = await readContents(loader, path)
      if (!values.json) process.stderr.write(contentsText(contents))
      await agreeToProject(contents, what === 'once', consent)
      seen = contents.digest
    }
    const record = await loader.trust.decide(path, what === undefined ? 'trusted' : DECISIONS[what], seen)
    process.stdout.write(values.json ? jsonText(record) : `${sentence(record)}\n`)
    return 0
  },
})

async function showStatus(loader: Loader, path: string, json: boolean): Promise<number> {
  const { status, diagnostics } = await loader.trust.status(path)
  const contents = await readContents(loader, path)
  if (json) {
    printJson({ path, status, standing: status, ...contentsJson(contents), recordDiagnostics: diagnostics })
    return 0
  }
  const since = 'since' in status ? ` Decided ${status.since}.` : ''
  process.stdout.write(`${contentsText(contents)}${STATUSES[status.kind]}${since}\n`)
  for (const diagnostic of diagnostics) process.stderr.write(diagnosticText(diagnostic, process.stderr))
  return 0
}

const STATUSES: Readonly<Record<TrustStatus['kind'], string>> = {
  nothing: 'Nothing to decide: the project has no tools, settings or skills of its own.',
  unknown: 'Not decided: the project is not used until you trust it.',
  trusted: 'Trusted: it is used until its content changes.',
  once: 'Trusted for the next start with this content.',
  declined: 'Declined: it is not used.',
  changed: 'Not used: it has changed since you decided.',
}

async function list(loader: Loader, json: boolean): Promise<number> {
  const { records, diagnostics } = await loader.trust.list()
  if (json) {
    printJson({ records, diagnostics })
    return 0
  }
  process.stdout.write(records.length === 0 ? 'No decisions are stored.\n' : table(
    ['DECISION', 'SINCE', 'CONTENT', 'PROJECT'],
    records.map(({ decision, decidedAt, digest, path }) => [decision, decidedAt, digest?.slice(0, 12) ?? '-', path]),
  ))
  for (const diagnostic of diagnostics) process.stderr.write(diagnosticText(diagnostic, process.stderr))
  return 0
}

function sentence({ decision, path, digest }: TrustRecord): string {
  const project = styleText('bold', visibleText(path))
  switch (decision) {
    case 'trusted':
      return `${project} is trusted (content ${digest?.slice(0, 12)}). If it changes, you are asked again.`
    case 'once':
      return `${project} is trusted (content ${digest?.slice(0, 12)}) for the next start only.`
    case 'declined':
      return `${project} is declined: its tools, settings and skills are not used. If they change, you are asked again.`
    case 'revoked':
      return `The decision about ${project} was removed.`
  }
}

/** The verified contents of a project layer. None of it has run. */
interface ProjectContents {
  readonly path: string
  /** Digest of the whole layer. Trust decisions apply to this digest. */
  readonly digest: string
  readonly extensions: readonly ExtensionDescriptor[]
  readonly shadows: Shadows
  readonly agents: readonly (AgentDescriptor & { readonly hidesYours: boolean })[]
  readonly skills: readonly SkillDescriptor[]
  readonly settings: readonly LooseningSetting[]
  readonly servers: readonly (readonly [name: string, server: NonNullable<ConfigFile['mcp']>[string]])[]
  readonly languages: readonly (readonly [name: string, server: LanguageServerConfig])[]
  readonly documents: readonly (readonly [name: string, document: NonNullable<ConfigFile['openapi']>[string]])[]
  /** What its .npmrc would do. */
  readonly npm: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Rejects with ProjectTrustRequired if the project changes during reading: the user must decide about the content that
 * was shown.
 */
async function readContents(loader: Loader, path: string): Promise<ProjectContents> {
  const digest = await loader.trust.measure(path)
  const { extensions, agents = [], skills = [], config, diagnostics } = await loader.load({
    workspace: path, trust: 'once', projectDigest: digest,
  })
  if (diagnostics.some(({ code }) => code === 'ProjectTrustRequired')) {
    throw new BulkheadError('ProjectTrustRequired', `"${path}" changed while it was read. Run the command again.`)
  }
  const own = config.layers.find(({ layer }) => layer === 'project')?.config ?? {}
  const below = await loader.load({ workspace: path, trust: 'declined', projectDigest: digest })
  return {
    path, digest,
    extensions: extensions.filter(({ layer }) => layer === 'project'),
    shadows: shadowsOf(below),
    agents: agents.filter(({ layer }) => layer === 'project').map((agent) =>
      ({ ...agent, hidesYours: agents.some(({ layer, name }) => layer === 'global' && name === agent.name) })),
    skills: skills.filter(({ layer }) => layer === 'project'),
    settings: looseningSettings(own, below.config.merged),
    servers: Object.entries(own.mcp ?? {}).filter(([, { enabled }]) => enabled !== false),
    languages: Object.entries(own.lsp ?? {}).filter(([, { enabled }]) => enabled !== false),
    documents: Object.entries(own.openapi ?? {}).filter(([, { enabled }]) => enabled !== false),
    npm: await reviewNpmrc(path),
    diagnostics: diagnostics.filter(({ layer }) => layer === 'project'),
  }
}

function contentsText(
  {
    path, digest, extensions, shadows, agents, skills, settings, servers, languages, documents, npm, diagnostics,
  }: ProjectContents,
): string {
  const lines = [
    ...extensions.flatMap((extension) => extensionLines(extension, shadows)),
    ...agents.flatMap((agent) => [line('agent', agentWords(agent)), ...promptLines(agent)]),
    ...skills.map(({ name, description }) => line('skill', `${name}: ${visibleText(description)}`)),
    ...settings.map((setting) => line('setting', settingWords(setting))),
    ...servers.map(([name, server]) => line('server', `${name}: ${serverWords(server)}`)),
    ...languages.map(([name, server]) => line('language', `${name}: ${localWords(server)}`)),
    ...documents.map(([name, { document, baseUrl, auth, security = {} }]) => {
      const names = [...new Set([auth, ...Object.values(security)].flatMap((one) => one?.secret ?? []))]
      const secrets = names.length === 0 ? '' : ` with the secret${names.length > 1 ? 's' : ''} ${names.join(', ')}`
      const server = baseUrl ?? 'the server that it names'
      return line('document', `${name}: ${documentWords(document)}, sent to ${server}${secrets}`)
    }),
    ...npm.map((effect) => line('npm', `its .npmrc ${effect}`)),
  ]
  const content = `(content ${digest.slice(0, 12)})`
  const what = lines.length === 0 ? `has no tools and loosens no settings ${content}` : `contains ${content}:`
  const heading = `${styleText('bold', visibleText(path))} ${what}`
  return [heading, ...lines, '', ...diagnostics.map((found) => diagnosticText(found, process.stderr))].join('\n')
}

const contentsJson = (
  {
    digest, extensions, shadows, agents, skills, settings, servers, languages, documents, npm, diagnostics,
  }: ProjectContents,
): object => ({
  digest, npm, extensions: extensions.map(extensionJson), tools: toolsOfProject(extensions, shadows),
  agents: agents.map(({ name, location, manifest, hidesYours }) =>
    ({ name, location, manifest: manifest ?? null, hidesYours })),
  skills: skills.map(({ name, description, location, files }) =>
    ({ name, description, location, files: Object.fromEntries(files) })),
  settings: settings.map(({ before, ...rest }) => ({ ...rest, before: before ?? null })),
  servers: servers.map(([name, server]) =>
    ({ name, ...server, ...(server.type === 'local' && { confined: server.jail !== false }) })),
  languages: languages.map(([name, server]) => ({ name, ...server, confined: server.jail !== false })),
  documents: documents.map(([name, document]) => ({ name, ...document })), diagnostics,
})

/** Its tools, and what its rules allow. All else in it only restricts. */
function agentWords({ name, manifest, hidesYours }: ProjectContents['agents'][number]): string {
  const called = hidesYours ? `${name}, instead of yours` : name
  if (manifest === undefined) return `${called}, which cannot be used`
  const allowed = manifest.rules.filter(({ action }) => action === 'allow')
    .map(({ permission, pattern }) => `${permission} ${pattern}`)
  const rules = allowed.length === 0 ? '' : `; its rules allow ${allowed.join(', ')}`
  return `${called}, offered ${manifest.tools?.join(', ') ?? 'all tools'}${rules}`
}

/** The rest of a longer prompt is in its file. */
const PROMPT_CHARS = 4_000

/** What the agent tells models: the one that delegates, and its own. */
function promptLines({ manifest, location }: ProjectContents['agents'][number]): readonly string[] {
  const { description, prompt = '' } = manifest ?? {}
  const about = description === undefined ? [] : [line('about', description)]
  if (prompt === '') return about
  const left = prompt.length - PROMPT_CHARS
  return [
    ...about,
    ...prompt.slice(0, PROMPT_CHARS).split(/\r?\n/).map((text, at) => line(at === 0 ? 'prompt' : '', `| ${text}`)),
    ...(left > 0 ? [line('', `and ${left.toLocaleString('en')} more characters in ${location}`)] : []),
  ]
}

function settingWords({ path, value, before }: LooseningSetting): string {
  const instead = before === undefined ? '' : ` instead of ${JSON.stringify(before)}`
  return `${path.slice(1).replaceAll('/', '.')} = ${JSON.stringify(value)}${instead}`
}

function serverWords(server: NonNullable<ConfigFile['mcp']>[string]): string {
  if (server.type === 'remote') {
    const secrets = Object.values(server.headers ?? {}).map(({ secret }) => secret)
    return `reaches ${server.url}${secrets.length === 0 ? '' : ` with the secrets ${secrets.join(', ')}`}`
  }
  return localWords(server)
}

function localWords(server: LocalServerConfig): string {
  const given = server.env?.length ? `, with the variables ${server.env.join(', ')}` : ''
  const rights = server.jail === false ? UNCONFINED.true
    : `in a jail: ${[...grantPhrases(server), ...(server.jail === 'files' ? [UNCONFINED.network] : [])].join(', ')}`
  return `starts ${server.command.map((part) => JSON.stringify(part)).join(' ')}${given}; ${rights}`
}
