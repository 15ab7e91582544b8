import { z } from 'zod'
import { headerName } from './fields.ts'

const keyHost = z.string().max(253).regex(
  /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z](?:[a-z0-9-]*[a-z0-9])?(?::\d{1,5})?$/,
  'the name of a host in lower case, without wildcards, such as api.example.com or api.example.com:8443',
)
const keyPath = z.string().max(1024).regex(/^\/[^?#\s\\]*$/, 'a path that begins with a slash, without a query')
const KEY_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** A key that a process uses and never sees. */
export const hostKey = z.strictObject({
  host: keyHost
    .describe('The only host that gets the key, over https. Port: 443 if none is given.'),
  header: headerName.optional().describe('The only header in which the key is sent. Default: Authorization.'),
  methods: z.array(z.enum(KEY_METHODS)).min(1).describe('The methods of requests that get the key.'),
  paths: z.array(keyPath).min(1).max(64).describe(
    'The paths of requests that get the key. * stays inside one segment; /** at the end includes everything below.',
  ),
}).describe('A key for one host. The process gets a placeholder, and never the value.')
