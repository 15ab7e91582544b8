import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { LAYERS, MANIFEST_FILE, type Layer, type TrustStatus } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { CORE_VERSION } from '../../facade/version.ts'
import { defineCommand, type Example, UsageError } from '../command.ts'
import { PLACE_OPTIONS } from '../host-options.ts'
import { inspect, type Inspection } from '../inspect.ts'
import { hint, printJson } from '../output.ts'

/** `bulkhead` without a command. */
export const overview = defineCommand({
  usage: '[COMMAND --help]',
  options: PLACE_OPTIONS,
  examples: [{ command: 'bulkhead', text: 'what is in this folder, and what to do next' }],

  async run({ values, positionals }) {
    if (positionals.length > 0) {
      const [first = 'help'] = Object.keys(values)
      throw new UsageError(`Put options after the command: bulkhead COMMAND --${first}.`)
    }
    await using inspection = await inspect(values)
    const found = factsOf(inspection)
    if (values.json) printJson(found)
    else process.stdout.write(factsText(found))
    return 0
  },
})

interface Server {
  readonly name: string
  readonly kind: 'mcp' | 'openapi'
  readonly state: string
  readonly tools: number | null
}

interface Facts {
  readonly version: string
  readonly workspace: string
  /** The decision about the project. nothing: it has no tools or settings of its own. */
  readonly project: TrustStatus['kind']
  readonly tools: Readonly<Record<Layer, number>>
  readonly extensions: readonly { readonly id: string; readonly version: string; readonly layer: Layer }[]
  readonly servers: readonly Server[]
  readonly problems: { readonly errors: number; readonly warnings: number }
  readonly next: readonly Example[]
}

function factsOf({ host, place: { workspace, report }, trustStatus }: Inspection): Facts {
  const tools = host.tools()
  const ofServers = new Set(report.extensions.filter(({ server }) => server).map(({ id }) => id))
  const extensions = host.extensions().filter(({ layer, id }) => layer !== 'bundled' && !ofServers.has(id))
    .map(({ id, version, layer }) => ({ id, version, layer }))
  const documents = Object.entries(report.config.merged.openapi ?? {}).map(([name, { enabled }]): Server => ({
    name, kind: 'openapi', state: enabled === false ? 'disabled' : 'known',
    tools: tools.filter(({ server }) => server?.kind === 'openapi' && server.name === name).length,
  }))
  const servers = host.mcp.servers()
    .map(({ name, state, tools: count = null }): Server => ({ name, kind: 'mcp', state, tools: count }))
  const count = (layer: Layer) => tools.filter((tool) => tool.layer === layer).length
  const faults = host.diagnostics.filter(({ code }) => code !== 'ProjectTrustRequired')
  const errors = faults.filter(({ severity }) => severity === 'error').length
  const facts = {
    version: CORE_VERSION, workspace, project: trustStatus.kind,
    tools: { bundled: count('bundled'), global: count('global'), project: count('project') },
    extensions, servers: [...servers, ...documents], problems: { errors, warnings: faults.length - errors },
  }
  return { ...facts, next: nextCommands(facts) }
}

const MOST_NEXT = 5

/** The most urgent first. */
function nextCommands({ workspace, project, extensions, servers, problems }: Omit<Facts, 'next'>): readonly Example[] {
  const isExtension = existsSync(join(workspace, MANIFEST_FILE))
  const suggestions: readonly (readonly [fits: boolean, command: string, text: string])[] = [
    [project === 'unknown' || project === 'changed', 'bulkhead trust', "review the project's tools and settings"],
    [problems.errors + problems.warnings > 0, 'bulkhead doctor', 'show what is wrong, and how to fix it'],
    [isExtension, 'bulkhead conformance .', 'test this extension against the conformance requirements'],
    [isExtension, 'bulkhead pack .', 'make a tarball of this extension'],
    [servers.some(({ state }) => state === 'unknown'), 'bulkhead tools --connect', 'list the tools of your servers'],
    [true, 'bulkhead tools', 'list the tools and what each may do'],
    [extensions.length > 0, 'bulkhead outdated', 'look for newer versions of your extensions'],
    [extensions.length === 0 && !isExtension, 'bulkhead new my-tool', 'write a tool of your own'],
    [true, 'bulkhead mcp', 'serve the tools to an MCP client'],
    [true, 'bulkhead --help', 'list all commands'],
  ]
  return suggestions.filter(([fits]) => fits).slice(0, MOST_NEXT).map(([, command, text]) => ({ command, text }))
}

const PROJECTS: Readonly<Record<TrustStatus['kind'], string>> = {
  nothing: 'has no tools or settings of its own',
  unknown: 'has its own tools or settings, which are not used until you trust it',
  changed: 'has changed since you decided, and is not used until you trust it again',
  trusted: 'is trusted',
  once: 'is trusted for the next start',
  declined: 'is declined: its tools and settings are not used',
}

function factsText({ version, workspace, project, tools, extensions, servers, problems, next }: Facts): string {
  const { errors, warnings } = problems
  const listed = (words: readonly string[]): string => words.length === 0 ? 'none' : words.join(', ')
  const rows = [
    ['folder', workspace],
    ['project', PROJECTS[project]],
    ['tools', listed(LAYERS.filter((layer) => tools[layer] > 0).map((layer) => `${tools[layer]} ${layer}`))],
    ['extensions', listed(extensions.map(({ id, version: of, layer }) => `${id} ${of} (${layer})`))],
    ['servers', listed(servers.map(({ name, kind, state }) => `${name} (${kind}, ${state})`))],
    ...(errors + warnings === 0 ? [] : [['problems', `${errors} errors, ${warnings} warnings`]]),
  ]
  const width = Math.max(...next.map(({ command }) => command.length))
  return [
    styleText('bold', `bulkhead ${version}`),
    ...rows.map(([label = '', text = '']) => `  ${label.padEnd(10)}  ${visibleText(text)}`),
    hint(['', 'Next', ...next.map(({ command, text }) => `  ${command.padEnd(width)}  ${text}`), ''].join('\n')),
  ].join('\n')
}
