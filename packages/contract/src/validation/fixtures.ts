import { z } from 'zod'
import { commandName, envName, headerName, hostPattern, toolName } from './fields.ts'

const text = z.string().max(1024 * 1024)
const headerValue = text.regex(/^[\t\u0020-\u007E\u0080-\u00FF]*$/, 'a text without line ends')
const json = z.json()

const httpAnswer = z.strictObject({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).exactOptional()
    .describe('The method that it answers. Default: every one.'),
  path: z.string().max(2_048).regex(/^\//, 'a path that begins with /')
    .describe('The path that it answers, as it is sent. `*` matches within one name, `**` across names. With `?`, the '
      + 'query must be equal too.'),
  status: z.int().min(200).max(599).exactOptional().describe('Default: 200.'),
  headers: z.record(headerName, headerValue).exactOptional().describe('Headers of the answer.'),
  body: json.exactOptional().describe('A text is sent as it is, everything else as JSON. Default: an empty body.'),
})

const command = z.strictObject({
  cmd: commandName.describe('The command that it answers.'),
  args: z.array(text).max(256).exactOptional()
    .describe('All arguments of the command; `*` in one matches any text. Default: any arguments.'),
  exitCode: z.int().min(0).max(255).exactOptional().describe('Default: 0.'),
  stdout: text.exactOptional().describe('Default: nothing.'),
  stderr: text.exactOptional().describe('Default: nothing.'),
})

/** The files in `fixtures/` beside a tool, by name without `.json`: what the conformance suite gives the tool. */
export const fixturesSchema = z.strictObject({
  http: z.record(hostPattern, z.array(httpAnswer).max(1_000)).exactOptional()
    .describe('`fixtures/http.json`: answers of hosts, by host. The first one that matches answers; without one, the '
      + 'host answers 404.'),
  secrets: z.record(envName, text.min(1)).exactOptional()
    .describe('`fixtures/secrets.json`: values of declared secrets and variables, by name. They are for tests, and no '
      + 'real ones. A secret has 8 characters or more.'),
  commands: z.array(command).max(1_000).exactOptional()
    .describe('`fixtures/commands.json`: what declared commands put out. The first one that matches answers. Nothing '
      + 'is run.'),
  tools: z.record(toolName, json).exactOptional()
    .describe('`fixtures/tools.json`: data that tools of other extensions return, by name.'),
  answers: z.record(z.string().max(10_000), json).exactOptional()
    .describe('`fixtures/answers.json`: what a person answers, by the text of the question.'),
})

export type FixtureAnswers = z.output<typeof fixturesSchema>
