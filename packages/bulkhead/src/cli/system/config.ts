import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, CONFIG_FILE } from '@bulkhead/contract'
import { parseJson, pointerKey, pointerStep } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { editConfig, findKeyFault, PROJECT_FOLDER, settingOrigins, type SettingOrigin } from '@bulkhead/loader'
import { canonicalFolder } from '../../facade/loader-options.ts'
import { type Command, type CommandOptions, defineSubcommand, UsageError } from '../command.ts'
import { changeConfig, userFile } from '../config-file.ts'
import { type HostValues, PLACE_OPTIONS } from '../host-options.ts'
import { inspect, type Inspection } from '../inspect.ts'
import { diagnosticText, hint, printJson, table } from '../output.ts'

const ORIGIN_OPTION = {
  origin: { type: 'boolean', text: 'also print the layer and the file of each setting' },
} as const satisfies CommandOptions

const list = defineSubcommand({
  text: 'print every setting that is in effect',
  options: { ...ORIGIN_OPTION, ...PLACE_OPTIONS },
  async run({ values }) {
    const { settings, diagnostics, project } = await effective(values)
    if (values.json) printJson({ settings: settings.map(settingJson), project, diagnostics })
    else {
      process.stdout.write(settings.length === 0 ? 'Nothing is set.\n' : settingTable(settings, values.origin))
      process.stderr.write(diagnostics.map((found) => diagnosticText(found, process.stderr)).join(''))
      if (!project.used) process.stderr.write(hint(`${project.file} is not used: the project is not trusted.\n`))
    }
    return 0
  },
})

const get = defineSubcommand({
  text: 'print one setting, or all settings below a key',
  usage: 'KEY',
  options: { ...ORIGIN_OPTION, ...PLACE_OPTIONS },
  async run({ values, positionals }) {
    const [key] = readOperands('get', ['key'], positionals)
    const steps = stepsOf(key!)
    const { settings } = await effective(values)
    const path = pointerOf(steps)
    const found = settings.filter((setting) => `${setting.path}/`.startsWith(`${path}/`))
    const [first] = found
    if (first === undefined) {
      refuseUnknown(key!, steps)
      throw new BulkheadError('NotFound', `${key} is not set.`)
    }
    if (values.json) {
      printJson({ key, ...(first.path === path && { value: first.value }), settings: found.map(settingJson) })
    } else if (first.path === path && !values.origin) {
      const value = typeof first.value === 'string' ? first.value : JSON.stringify(first.value)
      process.stdout.write(`${visibleText(value, { keepLines: true })}\n`)
    } else process.stdout.write(settingTable(found, values.origin))
    return 0
  },
})

const set = defineSubcommand({
  text: 'check a value and write it to your configuration file',
  usage: 'KEY VALUE',
  options: { project: { type: 'boolean', text: 'write to the file of the project' }, ...PLACE_OPTIONS },
  async run({ values, positionals }) {
    const [key, text] = readOperands('set', ['key', 'value'], positionals)
    const steps = stepsOf(key!)
    refuseUnknown(key!, steps)
    const parsed = parseJson(text!)
    const value = parsed.ok ? parsed.value : text!
    const file = values.project ? await projectFile(values) : userFile(values)
    changeConfig(file, (written) => editConfig(written, steps, value))
    const { settings, project } = await effective(values)
    const path = pointerOf(steps)
    const now = settings.find((setting) => setting.path === path)
    const inEffect = settings.some((setting) => `${setting.path}/`.startsWith(`${path}/`) && setting.location === file)
    if (values.json) printJson({ set: true, key, value, file, effective: now ? settingJson(now) : null, project })
    else {
      process.stdout.write(`${visibleText(`${key} = ${JSON.stringify(value)} in ${file}`)}\n`)
      if (values.project && !project.used) process.stderr.write(hint(CHANGED))
      else if (!inEffect && now) {
        process.stderr.write(`${visibleText(`No effect: ${now.location} sets ${JSON.stringify(now.value)}.`)}\n`)
      }
    }
    return 0
  },
})

export const config: Command = {
  subcommands: { list, get, set },
  operands: {
    KEY: { text: 'such as mode or policy.signature.project; a JSON Pointer if a name contains a dot' },
    VALUE: { text: 'JSON, or a string without quotes' },
  },
  details: `The values are those that a host uses in this folder. The settings of a project count once you trust it.
Where a project can only restrict, the stricter value is shown. A list, a server and a ceiling are set as a whole. After
you change the file of a project, trust it again.`,
  exits: ['on success', 'if the setting is not set or was refused'],
  examples: [
    { command: 'bulkhead config list --origin', text: 'every setting, and the file that decides it' },
    { command: 'bulkhead config set audit.arguments true', text: 'for all your projects' },
    { command: 'bulkhead config set tools.bash.enabled false --project', text: 'for this project' },
    { command: 'bulkhead config get audit', text: 'all settings below one key' },
  ],
}

/** The arguments of a subcommand, all of them. */
function readOperands(act: string, names: readonly string[], given: readonly string[]): readonly string[] {
  const [extra] = given.slice(names.length)
  if (extra !== undefined) throw new UsageError(`Unexpected argument "${extra}".`)
  const missing = names[given.length]
  if (missing === undefined) return given
  throw new UsageError(`Missing ${missing}. Use: bulkhead config ${act} ${names.join(' ').toUpperCase()}.`)
}

const CHANGED = 'The project has changed. To use it: bulkhead trust\n'

/** What a host would use in this folder. */
async function effective(values: HostValues) {
  await using found = await inspect(values)
  const settings = settingOrigins(found.place.report.config)
  const diagnostics = found.host.diagnostics.filter(({ stage }) => stage === 'configSchema')
  return { settings, diagnostics, project: projectOf(found) }
}

function projectOf({ trustStatus: { kind }, place: { workspace, report } }: Inspection) {
  const used = kind === 'nothing' || report.config.layers.some(({ layer }) => layer === 'project')
  return { file: join(workspace, PROJECT_FOLDER, CONFIG_FILE), trust: kind, used }
}

const settingJson = ({ path, value, layer, location }: SettingOrigin): object =>
  ({ key: keyOf(path), value, layer, file: location })

function settingTable(settings: readonly SettingOrigin[], origin = false): string {
  const rows = settings.map(({ path, value, layer, location }) =>
    [keyOf(path), ...(origin ? [layer, location] : []), JSON.stringify(value)])
  return table(['KEY', ...(origin ? ['LAYER', 'FILE'] : []), 'VALUE'], rows)
}

const pointerOf = (steps: readonly string[]): string => steps.map(pointerStep).join('')

/** The pointer itself if a name contains a dot. */
const keyOf = (path: string): string =>
  path.includes('.') ? path : path.slice(1).split('/').map(pointerKey).join('.')

function stepsOf(key: string): readonly string[] {
  const steps = key.startsWith('/') ? key.slice(1).split('/').map(pointerKey) : key.split('.')
  if (steps.includes('')) throw new UsageError(`"${key}" is not a key. Use a key such as audit.require.`)
  return steps
}

function refuseUnknown(key: string, steps: readonly string[]): void {
  const fault = findKeyFault(steps)
  if (fault !== undefined) throw new UsageError(`"${key}" ${fault}.`)
}

/** A link in a project could point anywhere, and a host does not follow it. */
async function projectFile(values: HostValues): Promise<string> {
  const file = join(await canonicalFolder(values.workspace), PROJECT_FOLDER, CONFIG_FILE)
  if (!lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return file
  throw new BulkheadError('ConfigInvalid', `"${file}" is a link. Replace it by a file.`)
}
