import type { Library } from './library.ts'

const FILES = { fs: { read: ['{workspace}/**'], write: ['{workspace}/out/**'] } }

/** Libraries that compute, use files or run commands. */
export const OFFLINE: readonly Library[] = [
  {
    name: 'ajv', version: '8.20.0', does: 'validates by a schema',
    imports: "import { Ajv } from 'ajv'",
    body: `const check = new Ajv().compile({ type: 'object', required: ['a'] })
      return [check({ a: 1 }), check({})]`,
    returns: [true, false],
  },
  {
    name: 'chalk', version: '5.6.2', does: 'colours text',
    imports: "import { Chalk } from 'chalk'",
    body: "return new Chalk({ level: 1 }).red('x')",
    returns: '\u001B[31mx\u001B[39m',
  },
  {
    name: 'cheerio', version: '1.2.0', does: 'reads HTML',
    imports: "import { load } from 'cheerio'",
    body: "return load('<h1>Birds</h1>')('h1').text()",
    returns: 'Birds',
  },
  {
    name: 'csv-parse', version: '7.0.3', does: 'parses a stream of CSV',
    imports: "import { Readable } from 'node:stream'\nimport { parse } from 'csv-parse'",
    body: `const rows = Readable.from(['name,count\\n', 'crow,3\\n']).pipe(parse({ columns: true }))
      return Array.fromAsync(rows)`,
    returns: [{ name: 'crow', count: '3' }],
  },
  {
    name: 'date-fns', version: '4.4.0', does: 'computes with dates',
    imports: "import { addDays, formatISO } from 'date-fns'",
    body: "return formatISO(addDays(new Date(2026, 0, 31), 1), { representation: 'date' })",
    returns: '2026-02-01',
  },
  {
    name: 'dayjs', version: '1.11.23', does: 'computes with dates',
    imports: "import dayjs from 'dayjs'",
    body: "return dayjs('2026-01-31').add(1, 'month').format('YYYY-MM-DD')",
    returns: '2026-02-28',
  },
  {
    name: 'dotenv', version: '18.0.10', does: 'parses a file of variables', requires: FILES,
    imports: "import { readFile } from 'node:fs/promises'\nimport { parse } from 'dotenv'",
    body: "return parse(await readFile('vars.txt', 'utf8'))",
    returns: { LEVEL: 'high' },
  },
  {
    name: 'exceljs', version: '4.4.0', does: 'writes and reads a workbook', requires: FILES,
    note: 'import `exceljs/dist/exceljs.bare.min.js`: the other builds change built-in objects',
    imports: `import { readFile, writeFile } from 'node:fs/promises'
      import ExcelJS from 'exceljs/dist/exceljs.bare.min.js'`,
    body: `const book = new ExcelJS.Workbook()
      book.addWorksheet('Birds').addRow(['crow', 3])
      await writeFile('out/birds.xlsx', new Uint8Array(await book.xlsx.writeBuffer()))
      const read = new ExcelJS.Workbook()
      await read.xlsx.load(await readFile('out/birds.xlsx'))
      return read.getWorksheet('Birds').getCell('B1').value`,
    returns: 3,
  },
  {
    name: 'execa', version: '9.6.1', does: 'runs a command',
    requires: { shell: [{ cmd: 'cat', args: [{ rest: true }] }] },
    imports: "import { execa } from 'execa'",
    body: "return (await execa('cat', ['vars.txt'])).stdout",
    returns: 'LEVEL=high',
  },
  {
    name: 'fast-xml-parser', version: '5.12.1', does: 'parses XML',
    imports: "import { XMLParser } from 'fast-xml-parser'",
    body: "return new XMLParser().parse('<a><b>1</b></a>')",
    returns: { a: { b: 1 } },
  },
  {
    name: 'handlebars', version: '4.7.10', does: 'fills a template',
    imports: "import Handlebars from 'handlebars'",
    body: "return Handlebars.compile('Hello {{name}}')({ name: 'crow' })",
    returns: 'Hello crow',
  },
  {
    name: 'jose', version: '6.2.17', does: 'signs and verifies a token',
    imports: "import { generateKeyPair, jwtVerify, SignJWT } from 'jose'",
    body: `const { publicKey, privateKey } = await generateKeyPair('ES256')
      const token = await new SignJWT({ bird: 'crow' }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
      return (await jwtVerify(token, publicKey)).payload.bird`,
    returns: 'crow',
  },
  {
    name: 'jsonwebtoken', version: '9.0.3', does: 'signs and verifies a token',
    imports: "import { generateKeyPairSync } from 'node:crypto'\nimport jwt from 'jsonwebtoken'",
    body: `const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
      const pem = (key, type) => key.export({ type, format: 'pem' })
      const token = jwt.sign({ bird: 'crow' }, pem(privateKey, 'pkcs8'), { algorithm: 'RS256' })
      return [jwt.verify(token, pem(publicKey, 'spki')).bird, jwt.verify(jwt.sign({ a: 1 }, 'k'), 'k').a]`,
    returns: ['crow', 1],
  },
  {
    name: 'lodash', version: '4.18.1', does: 'groups a list',
    imports: "import lodash from 'lodash'",
    body: "return lodash.mapValues(lodash.groupBy(['ab', 'c', 'de'], 'length'), 'length')",
    returns: { 1: 1, 2: 2 },
  },
  {
    name: 'luxon', version: '3.7.2', does: 'computes with time zones',
    imports: "import { DateTime } from 'luxon'",
    body: "return DateTime.fromISO('2026-07-01T12:00Z', { zone: 'Europe/Berlin' }).toFormat('HH:mm')",
    returns: '14:00',
  },
  {
    name: 'marked', version: '18.2.0', does: 'renders Markdown',
    imports: "import { marked } from 'marked'",
    body: "return marked('# Birds')",
    returns: '<h1>Birds</h1>\n',
  },
  {
    name: 'mime-types', version: '3.0.2', does: 'finds a media type',
    imports: "import mime from 'mime-types'",
    body: "return mime.lookup('a.json')",
    returns: 'application/json',
  },
  {
    name: 'nanoid', version: '5.1.16', does: 'makes an id',
    imports: "import { nanoid } from 'nanoid'",
    body: 'return nanoid(12).length',
    returns: 12,
  },
  {
    name: 'papaparse', version: '5.7.1', does: 'parses CSV',
    imports: "import Papa from 'papaparse'",
    body: "return Papa.parse('a,b\\n1,2', { header: true }).data",
    returns: [{ a: '1', b: '2' }],
  },
  {
    name: 'pdf-lib', version: '1.17.1', does: 'writes a PDF file', requires: FILES,
    imports: "import { readFile, writeFile } from 'node:fs/promises'\nimport { PDFDocument } from 'pdf-lib'",
    body: `const document = await PDFDocument.create()
      document.addPage().drawText('Birds')
      await writeFile('out/birds.pdf', await document.save())
      return (await PDFDocument.load(await readFile('out/birds.pdf'))).getPageCount()`,
    returns: 1,
  },
  {
    name: 'qs', version: '6.17.1', does: 'parses a query',
    imports: "import qs from 'qs'",
    body: "return qs.parse('a[b]=1&c=2')",
    returns: { a: { b: '1' }, c: '2' },
  },
  {
    name: 'semver', version: '7.8.6', does: 'compares versions',
    imports: "import semver from 'semver'",
    body: "return semver.satisfies('1.2.3', '^1.0.0')",
    returns: true,
  },
  {
    name: 'uuid', version: '14.0.3', does: 'makes ids',
    imports: "import { v4, v5, validate } from 'uuid'",
    body: "return [v5('a', v5.URL), validate(v4())]",
    returns: ['e1407479-3136-56c0-9908-bb02fb0339e2', true],
  },
  {
    name: 'yaml', version: '2.9.1', does: 'writes YAML',
    imports: "import { parse, stringify } from 'yaml'",
    body: "return stringify(parse('a: [1, 2]'))",
    returns: 'a:\n  - 1\n  - 2\n',
  },
  {
    name: 'zod', version: '4.6.7', does: 'parses by a schema',
    imports: "import { z } from 'zod'",
    body: "return z.object({ n: z.coerce.number() }).parse({ n: '7' })",
    returns: { n: 7 },
  },
]
