import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { meantNames, visibleText } from '@bulkhead/kit/text'
import { readSteps, STEP_KEYS } from './kit-steps.ts'
import { isNeeds, isText, type Needs, NEEDS_FAULT, parseMapping } from './yaml-files.ts'

/** A prompt in a file: guidance for one kind of work. */
export interface Kit {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly arguments: readonly KitArgument[]
  /** The tools that the kit is of use with. */
  readonly needs: Needs
  /** `{{name}}` stands for the value of an argument. */
  readonly text: string
}

export interface KitArgument {
  readonly name: string
  readonly description?: string
  readonly required?: boolean
  /** The value if the argument is missing. Default: an empty string. */
  readonly default?: string
  /** Values to suggest. Others are possible. */
  readonly values?: readonly string[]
}

const MAX_ARGUMENTS = 32
const NAME = /^[a-z][a-z0-9_-]{0,63}$/
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g

/** Returns the kit in a YAML text, or a description of the fault. */
export async function parseKit(name: string, text: string): Promise<Kit | string> {
  if (!NAME.test(name)) return 'the name of its file must begin with a-z and have a-z, digits, "-" and "_" only'
  const read = await parseMapping(text, ['title', 'description', 'arguments', 'needs', 'text', ...STEP_KEYS])
  if (typeof read === 'string') return read
  const steps = read['steps'] === undefined ? undefined : readSteps(read['steps'])
  if (typeof steps === 'string') return steps
  const { title, goal, description = goal, arguments: list = [], needs = steps?.tools ?? [], text: own = steps?.text } = read
  if (!isText(description) || !isText(own)) {
    return '"description" and "text" must be strings that are not empty, or be "goal" and "steps"'
  }
  const body = steps !== undefined && isText(goal) ? `Goal: ${goal.trim()}\n\n${own}` : own
  if (title !== undefined && !isText(title)) return '"title" must be a string that is not empty'
  if (!Array.isArray(list) || list.length > MAX_ARGUMENTS) {
    return `"arguments" must be a list of at most ${MAX_ARGUMENTS}`
  }
  const faulty = (list as readonly Json[]).find((one) => !isArgument(one))
  if (faulty !== undefined) {
    return `the argument ${visibleText(JSON.stringify(faulty).slice(0, 200))} is not valid. ${ARGUMENT_FORM}`
  }
  const args = list as unknown as readonly KitArgument[]
  const names = new Set(args.map((one) => one.name))
  if (names.size < args.length) return 'two arguments have the same name'
  const stray = [...body.matchAll(PLACEHOLDER)].find(([, used]) => !names.has(used!))
  if (stray) {
    const wanted = stray[1]!.trim()
    const cure = names.has(wanted) ? ` Write {{${wanted}}} without spaces.` : meantNames(wanted, names)
    return `its text uses ${visibleText(stray[0])}, which is not an argument.${cure}`
  }
  if (!isNeeds(needs)) return NEEDS_FAULT
  return { name, ...(title !== undefined && { title }), description, arguments: args, needs, text: body }
}

const ARGUMENT_FORM = 'It must have a "name" of a-z, digits, "-" and "_", and may have "description", "required", '
  + '"default" and "values"'
const KEYS: ReadonlySet<string> = new Set(['name', 'description', 'required', 'default', 'values'])

function isArgument(value: Json): boolean {
  if (!isJsonObject(value) || !Object.keys(value).every((key) => KEYS.has(key))) return false
  const { name, description = '', required = false, default: preset = '', values = [] } = value
  return typeof name === 'string' && NAME.test(name) && typeof description === 'string' && typeof required === 'boolean'
    && typeof preset === 'string' && Array.isArray(values) && values.every((one) => typeof one === 'string')
}

/** Names of the kits of morphix. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['tdd_workflow', 'tdd'], ['debug_cycle', 'debug'], ['project_setup', 'project-setup'], ['code_quality', 'code-quality'],
])

/** The kit with this name, ours or that of morphix. */
export const kitNamed = <One extends { readonly name: string }>(kits: readonly One[], name: string): One | undefined =>
  kits.find((kit) => kit.name === name) ?? kits.find((kit) => kit.name === OTHER_NAMES.get(name))

/** Values are inserted once: a value that looks like a placeholder stays as it is. */
export function fillKit({ arguments: args, text }: Kit, values: ReadonlyMap<string, string>): string {
  const presets = new Map(args.map((one) => [one.name, one.default ?? '']))
  return text.replaceAll(PLACEHOLDER, (_, name: string) => values.get(name) ?? presets.get(name) ?? '')
}
