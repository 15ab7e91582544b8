import type { Library } from './library.ts'

const NET = { net: { hosts: ['$place'] } }

/** Libraries that talk to a service. */
export const ONLINE: readonly Library[] = [
  {
    name: '@anthropic-ai/sdk', version: '1.10.0', does: 'asks a model', requires: NET,
    imports: "import Anthropic from '@anthropic-ai/sdk'",
    body: `const client = new Anthropic({ apiKey: 'k', baseURL: base, maxRetries: 0 })
      const { content } = await client.messages.create({
        model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }],
      })
      return content[0].text`,
    returns: 'Hello',
  },
  {
    name: '@aws-sdk/client-s3', version: '3.1166.0', does: 'puts and gets a signed object', requires: NET,
    imports: "import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'",
    body: `const credentials = { accessKeyId: 'A', secretAccessKey: 'S' }
      const client = new S3Client({ region: 'eu-west-1', endpoint: base, forcePathStyle: true, credentials })
      await client.send(new PutObjectCommand({ Bucket: 'birds', Key: 'crow', Body: 'black' }))
      const { Body } = await client.send(new GetObjectCommand({ Bucket: 'birds', Key: 'crow' }))
      return Body.transformToString()`,
    returns: 'black',
  },
  {
    name: '@notionhq/client', version: '5.26.0', does: 'reads a page', requires: NET,
    imports: "import { Client } from '@notionhq/client'",
    body: `const { id } = await new Client({ auth: 'x', baseUrl: base }).pages.retrieve({ page_id: 'p1' })
      return id`,
    returns: 'p1',
  },
  {
    name: '@octokit/rest', version: '22.0.1', does: 'lists issues', requires: NET,
    imports: "import { Octokit } from '@octokit/rest'",
    body: `const { data } = await new Octokit({ baseUrl: base }).issues.listForRepo({ owner: 'o', repo: 'r' })
      return data[0].title`,
    returns: 'first',
  },
  {
    name: '@slack/web-api', version: '8.2.0', does: 'posts a message', requires: NET,
    imports: "import { WebClient } from '@slack/web-api'",
    body: `const client = new WebClient('xoxb-1', { slackApiUrl: base + '/slack/', retryConfig: { retries: 0 } })
      const { ok, ts } = await client.chat.postMessage({ channel: 'C1', text: 'Hi' })
      return [ok, ts]`,
    returns: [true, '1.2'],
  },
  {
    name: 'axios', version: '1.21.1', does: 'posts JSON', requires: NET,
    imports: "import axios from 'axios'",
    body: `const { data, status } = await axios.post(base + '/echo', { name: 'crow' })
      return [status, data.body]`,
    returns: [200, '{"name":"crow"}'],
  },
  {
    name: 'googleapis', version: '178.0.0', does: 'lists files with a token', requires: NET,
    imports: "import { google } from 'googleapis'",
    body: `const auth = new google.auth.OAuth2()
      auth.setCredentials({ access_token: 't' })
      const { data } = await google.drive({ version: 'v3', auth, rootUrl: base + '/' }).files.list()
      return data.files[0].name`,
    returns: 'crow.txt',
  },
  {
    name: 'got', version: '14.6.6', does: 'gets JSON', requires: NET,
    imports: "import got from 'got'",
    body: "return (await got.post(base + '/echo', { json: { a: 1 } }).json()).body",
    returns: '{"a":1}',
  },
  {
    name: 'ioredis', version: '6.0.0', does: 'talks to Redis', requires: NET,
    imports: "import Redis from 'ioredis'",
    body: `const client = new Redis(base.replace('http', 'redis'), { maxRetriesPerRequest: 0 })
      return client.get('crow')`,
    fails: {
      because: 'it needs a raw socket', instead: 'a service over HTTP',
      message: ['ioredis \u2192 node:net', 'Instead of ioredis'],
    },
  },
  {
    name: 'jsdom', version: '26.1.0', does: 'runs a page', requires: NET,
    imports: "import { JSDOM } from 'jsdom'",
    body: "return new JSDOM('<p>Hi</p>').window.document.querySelector('p').textContent",
    fails: {
      because: 'it runs the code of a page with `node:vm`', instead: '`cheerio`',
      message: ['jsdom \u2192 node:vm', 'Instead of jsdom, use cheerio'],
    },
  },
  {
    name: 'node-fetch', version: '3.3.2', does: 'posts fields', requires: NET,
    imports: "import fetch from 'node-fetch'",
    body: `const response = await fetch(base + '/echo', { method: 'POST', body: new URLSearchParams({ a: '1 2' }) })
      return [response.status, (await response.json()).body]`,
    returns: [200, 'a=1+2'],
  },
  {
    name: 'openai', version: '6.49.0', does: 'streams an answer of a model', requires: NET,
    imports: "import OpenAI from 'openai'",
    body: `const client = new OpenAI({ apiKey: 'k', baseURL: base + '/v1', maxRetries: 0 })
      const stream = await client.chat.completions.create({
        model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi' }],
      })
      const parts = await Array.fromAsync(stream, ({ choices }) => choices[0].delta.content)
      return parts.join('')`,
    returns: 'Hi there',
  },
  {
    name: 'pg', version: '8.23.1', does: 'talks to PostgreSQL', requires: NET,
    imports: "import pg from 'pg'",
    body: `const client = new pg.Client({ connectionString: base.replace('http', 'postgres') })
      await client.connect()
      return 'connected'`,
    fails: {
      because: 'it needs a raw socket', instead: 'a service over HTTP',
      message: ['pg \u2192 node:net', 'Instead of pg'],
    },
  },
  {
    name: 'stripe', version: '23.1.0', does: 'creates a customer and checks a signature', requires: NET,
    imports: "import Stripe from 'stripe'",
    body: `const { hostname, port } = new URL(base)
      const stripe = new Stripe('sk_1', { host: hostname, port, protocol: 'http', maxNetworkRetries: 0 })
      const { id } = await stripe.customers.create({ name: 'crow' })
      const payload = '{"id":"e1","object":"event"}'
      const header = await stripe.webhooks.generateTestHeaderStringAsync({ payload, secret: 's' })
      return [id, (await stripe.webhooks.constructEventAsync(payload, header, 's')).id]`,
    returns: ['cus_1', 'e1'],
  },
  {
    name: 'undici', version: '7.30.2', does: 'gets JSON', requires: NET,
    imports: "import { request } from 'undici'",
    body: "return (await (await request(base + '/echo')).body.json()).method",
    fails: {
      because: 'it needs raw sockets and `node:sqlite`', instead: 'the global `fetch`',
      message: ['undici \u2192 node:sqlite', 'Instead of undici, use the global `fetch`'],
    },
  },
]
