import { Parser } from 'htmlparser2'
import { countFailures, lineIn, type RunnerOutput, type TestFailure, type TestReport } from './report.ts'

interface Case {
  readonly suites: readonly string[]
  readonly attributes: Readonly<Record<string, string>>
  skipped: boolean
  failed: boolean
  isError: boolean
  output: string
  message: string
  text: string
}

const OUTPUTS: ReadonlySet<string> = new Set(['system-out', 'system-err'])
const START = '<?xml '
const END = '</testsuites>'

/** Every `testcase` of a JUnit report. undefined if there is no report. */
function casesOf(output: string): readonly Case[] | undefined {
  const [from, to] = [output.indexOf(START), output.lastIndexOf(END)]
  if (from < 0 || to < from) return undefined
  const cases: Case[] = []
  const suites: string[] = []
  let open: Case | undefined
  let inFailure = false
  let inOutput = false
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'testsuite') suites.push(attributes['name'] ?? '')
      else if (name === 'testcase') {
        open = { suites: [...suites], attributes, skipped: false, failed: false, isError: false, output: '', message: '', text: '' }
      }
      else if (open !== undefined && name === 'skipped') open.skipped = true
      else if (open !== undefined && (name === 'failure' || name === 'error')) {
        inFailure = true
        // A test that failed can have an error in its teardown as well.
        open.isError = name === 'error' && !(open.failed && !open.isError)
        open.failed = true
        open.message ||= attributes['message'] ?? ''
      } else if (OUTPUTS.has(name)) inOutput = true
    },
    ontext(text) {
      if (inFailure && open !== undefined) open.text += text
      if (inOutput && open !== undefined) open.output += text
    },
    onclosetag(name) {
      if (name === 'testsuite') suites.pop()
      if (name === 'failure' || name === 'error') inFailure = false
      if (OUTPUTS.has(name)) inOutput = false
      if (name !== 'testcase' || open === undefined) return
      cases.push(open)
      open = undefined
    },
  }, { xmlMode: true, decodeEntities: true })
  parser.write(output.slice(from, to + END.length))
  parser.end()
  return cases
}

function readCases(output: string, failureOf: (found: Case) => TestFailure): TestReport | undefined {
  const cases = casesOf(output)
  if (cases === undefined) return undefined
  const failures = cases.filter(({ failed }) => failed).map((found) => ({
    ...failureOf(found), ...(found.isError && { isError: true }), ...(found.output.trim() !== '' && { output: found.output.trim() }),
  }))
  const skipped = cases.filter((found) => found.skipped && !found.failed).length
  return { passed: cases.length - failures.length - skipped, skipped, ...countFailures(failures) }
}

/** Reads the report of `node --test`. */
export const readNodeReport = ({ stdout }: RunnerOutput): TestReport | undefined =>
  readCases(stdout, ({ suites, attributes: { name = '', file }, message, text }) => {
    const known = file ?? /file:\/\/([^\n:]+):\d+:\d+/.exec(text)?.[1]
    const line = known === undefined ? undefined : lineIn(text, known)
    return { name: [...suites, name].join(' > '), file: known, line, message: message || text.trim() }
  })

/** Reads the report of pytest. Its family must be `xunit1`, which names files. */
export const readPytestReport = ({ stdout }: RunnerOutput): TestReport | undefined =>
  readCases(stdout, ({ attributes: { name = '', classname = '', file, line }, message, text }) => {
    // Lines of the report begin with 0, and belong to the function. Those of the trace are nearer to the fault.
    const declared = line === undefined ? undefined : Number(line) + 1
    const traced = file === undefined ? undefined : lineIn(text, file) ?? lineOfSyntaxError(text, file)
    const reason = /^E {3}(\S.*)$/m.exec(text)?.[1]
    const described = message === 'collection failure' && reason !== undefined ? reason : message || text.trim()
    const fullName = classname === '' ? name : `${classname}.${name}`
    return { name: fullName, file, line: traced ?? declared, message: described }
  })

/** Python names the place of a syntax error in another form than those of calls. */
function lineOfSyntaxError(text: string, file: string): number | undefined {
  const found = text.matchAll(/^E +File "([^"\n]+)", line (\d+)$/gm)
  const place = [...found].find(([, path]) => path === file || path?.endsWith(`/${file}`) === true)
  return place && Number(place[2])
}
