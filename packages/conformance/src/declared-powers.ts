import { classifyToolMode, hasEffects, mustBeNamed, namesSensitiveFiles, type RequirementSet } from '@bulkhead/contract'
import { propertiesOf } from '@bulkhead/kit/schema'
import { eachTool } from './manifest.ts'
import { textOf, type PackageFacts } from './package.ts'
import { firstOf, type Requirement } from './requirement.ts'

const SPEC = 'docs/reference/manifest.md'
const PUBLISHING = 'docs/guides/publishing.md'

type Command = NonNullable<RequirementSet['shell']>[number]

const eachCommand = (evidence: (command: Command) => string | false) =>
  eachTool(({ requires: { shell = [] } }) => firstOf(shell, (command) => evidence(command) || undefined))
const eachHost = (isWrong: (host: string) => boolean) =>
  eachTool(({ requires: { net } }) => net?.hosts?.find(isWrong))

/** Whether the first argument can be anything. */
const isOpen = ([first]: NonNullable<Command['args']> = []): boolean =>
  typeof first === 'object' && !('prefix' in first)

/** `isNamed`: a pattern of a place that a wide one leaves out is not inside it. */
const innerPath = (
  patterns: readonly string[], isNamed: (pattern: string) => boolean,
): string | undefined => patterns.find((inner, index) => !isNamed(inner)
  && patterns.some((outer, at) => at !== index && (outer === inner ? at < index
    : outer.endsWith('/**') && inner.startsWith(outer.slice(0, -2)))))
const innerHost = (hosts: readonly string[]): string | undefined => hosts.find((inner, index) =>
  hosts.some((outer, at) => at !== index && (outer === inner ? at < index
    : outer.startsWith('*.') && inner.endsWith(outer.slice(1)))))

const INTERPRETER =
  /^(?:(?:ba|da|z|k|fi|tc|c)?sh|pwsh|cmd|node|deno|bun|python\d?(?:\.\d+)?|perl|ruby|php|env|xargs|sudo)$/
const PLATFORM =
  /^\*\.(?:github\.io|vercel\.app|netlify\.app|pages\.dev|workers\.dev|herokuapp\.com|ngrok(?:-free)?\.app)(?::|$)/
const MACHINE_NAME = /^(?:HOME|USER|USERNAME|LOGNAME|PATH|PWD|SHELL|HOSTNAME|SSH_\w+|NODE_OPTIONS|LD_\w+|DYLD_\w+)$/
const CREDENTIAL_NAME =
  /(?:^|_)(?:TOKEN|SECRET|PASSWORD|CREDENTIALS?|API_?KEY|ACCESS_KEY|PRIVATE_KEY)(?:_|$|\d)|^AWS_|^GOOGLE_APPLICATION/

export const DECLARED_POWER_REQUIREMENTS: readonly Requirement<PackageFacts>[] = [
  {
    id: 'mode-declared', level: 'must', spec: SPEC,
    statement: 'The declared mode is not milder than what the tool may do.',
    why: 'Hosts and people rely on it to ask.',
    cure: 'Declare the mode that fits, or remove it: the host derives it.',
    check: eachTool((tool, { extension: { manifest } }) => {
      const applied = classifyToolMode(tool, manifest)
      return tool.mode === 'read' && applied !== 'read' && `it says read, and its requirements make it ${applied}`
    }),
  },
  {
    id: 'gated-effects', level: 'must', spec: SPEC,
    statement: 'A tool with effects is gated.',
    why: 'The host gates it anyway, and the manifest would say something else.',
    cure: 'Remove "gated": false.',
    check: eachTool(({ gated, requires }, { extension: { manifest } }) =>
      !gated && hasEffects(requires, manifest) && 'it is not gated'),
  },
  {
    id: 'approval-key-declared', level: 'should', spec: 'docs/guides/approvals.md',
    statement: 'A tool with effects and arguments has an approval key.',
    why: 'Otherwise one approval covers every call of the tool.',
    cure: 'Add "approvalKey", such as "{path}", or deriveApprovalKey in code.',
    check: eachTool(({ approvalKey, requires, inputSchema }, { files }) => approvalKey === undefined
      && hasEffects(requires) && Object.keys(propertiesOf(inputSchema)).length > 0
      && !files.values().some((bytes) => textOf(bytes).includes('deriveApprovalKey'))
      && 'it has none'),
  },
  {
    id: 'power-files', level: 'should', spec: PUBLISHING,
    statement: 'A tool does not write the whole workspace.',
    why: 'A person has to trust it with every file.',
    cure: 'Name the folder or the kind of file, such as {workspace}/reports/**.',
    check: eachTool(({ requires }) =>
      requires.fs?.write?.find((pattern) => /^(?:\{workspace\}\/)?\*\*(?:\/\*)?$/.test(pattern))),
  },
  {
    id: 'power-hosts', level: 'must', spec: PUBLISHING,
    statement: 'A tool does not reach every host.',
    why: 'It could send anything anywhere.',
    cure: 'Name the hosts.',
    check: eachTool(({ requires }) => requires.net?.hosts?.find((host) => host === '*' || host.startsWith('*:'))),
  },
  {
    id: 'power-credentials', level: 'must', spec: PUBLISHING,
    statement: 'Credentials are secrets, not environment variables.',
    why: 'Code sees the value of a variable. It never sees that of a secret.',
    cure: 'Move the name from "env" to "secrets", with the hosts it may go to.',
    check: ({ extension: { manifest: { env } } }) => env.find((name) => CREDENTIAL_NAME.test(name)),
  },
  {
    id: 'mode-safe-write', level: 'must', spec: SPEC,
    statement: 'A tool with mode safe_write reaches no host and runs no command.',
    why: 'Hosts and people expect that it changes files of the workspace only.',
    cure: 'Declare external or local, or remove the mode: the host derives it.',
    check: eachTool(({ mode, requires: { net, shell } }) => mode === 'safe_write'
      && ((net?.hosts?.length ?? 0) > 0 || (shell?.length ?? 0) > 0) && 'it has hosts or commands'),
  },
  {
    id: 'mode-destructive', level: 'must', spec: SPEC,
    statement: 'A tool with a name such as delete_notes does not have the mode read or safe_write.',
    why: 'Hosts and people rely on it to ask.',
    cure: 'Declare destructive.',
    check: eachTool(({ name, mode }) => /^(?:delete|remove|archive|drop|purge|wipe)(?:[_-]|$)/.test(name)
      && (mode === 'read' || mode === 'safe_write') && `its mode is ${mode}`),
  },
  {
    id: 'power-interpreters', level: 'must', spec: PUBLISHING,
    statement: 'A tool does not run a shell or an interpreter with open arguments.',
    why: 'Its argument is a program, which can do everything.',
    cure: 'Run the program itself, or fix the arguments.',
    check: eachCommand(({ cmd, args }) => INTERPRETER.test(cmd) && isOpen(args) && `it runs ${cmd} with any program`),
  },
  {
    id: 'power-arguments', level: 'should', spec: PUBLISHING,
    statement: 'The arguments of a command begin with something fixed.',
    why: 'Most commands can also delete, upload or run something.',
    cure: 'Fix the subcommand, such as ["log", { "rest": true }].',
    check: eachCommand(({ cmd, args }) => isOpen(args) && `${cmd} gets any arguments`),
  },
  {
    id: 'power-protected', level: 'should', spec: 'docs/explanation/security.md',
    statement: 'No write pattern names a place whose content other programs run.',
    why: 'A file there is a program that runs later without asking.',
    cure: 'Leave .git, start-up files of shells and folders of editors to their own programs.',
    check: eachTool(({ requires }) => requires.fs?.write?.find((pattern) => pattern.split('/').some(mustBeNamed))),
  },
  {
    id: 'power-metadata', level: 'must', spec: PUBLISHING,
    statement: 'No host is the metadata service of a cloud.',
    why: 'It hands out credentials of the machine.',
    cure: 'Use a secret for a credential of your own.',
    check: eachHost((host) => /^(?:169\.254\.|metadata\.|\[fe80:|\[fd00:ec2:|100\.100\.100\.200)/.test(host)),
  },
  {
    id: 'power-host-wildcard', level: 'must', spec: PUBLISHING,
    statement: 'A wildcard does not cover a whole top-level domain or a platform where anyone can get a name.',
    why: 'It could send anything to a stranger.',
    cure: 'Name the hosts.',
    check: eachHost((host) => /^\*\.[^.]+(?::\d+)?$/.test(host) || PLATFORM.test(host)),
  },
  {
    id: 'power-redundant', level: 'should', spec: PUBLISHING,
    statement: 'No pattern lies inside another one of the same list.',
    why: 'People read it as a limit, and it is none.',
    cure: 'Remove the narrow pattern, or the wide one.',
    check: eachTool(({ requires: { fs, net } }) =>
      innerPath(fs?.read ?? [], namesSensitiveFiles)
      ?? innerPath(fs?.write ?? [], (pattern) => pattern.split('/').some(mustBeNamed)) ?? innerHost(net?.hosts ?? [])),
  },
  {
    id: 'secret-hosts', level: 'must', spec: PUBLISHING,
    statement: 'A secret goes to hosts that are named in full.',
    why: 'A wildcard may cover a host that is not yours.',
    cure: 'Name each host of the secret.',
    check: ({ extension: { manifest: { secrets } } }) => firstOf(secrets, ({ name, hosts = [] }) => {
      const wide = hosts.find((host) => host.startsWith('*'))
      return wide && `${name} goes to ${wide}`
    }),
  },
  {
    id: 'power-env-machine', level: 'should', spec: PUBLISHING,
    statement: 'The extension reads no variables about the machine and its user.',
    why: 'They name the user, folders and sockets, and results would differ on each machine.',
    cure: 'Use runtime instead, or a configuration key.',
    check: ({ extension: { manifest: { env } } }) => env.find((name) => MACHINE_NAME.test(name)),
  },
]
