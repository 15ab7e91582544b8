import { hash } from 'node:crypto'
import { visibleText } from '@bulkhead/kit/text'

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{max-width:46rem;margin:1rem auto;padding:0 1rem}
pre{overflow:auto;padding:.5rem;border:1px solid;white-space:pre-wrap;overflow-wrap:anywhere}label,button{display:block;margin:.5rem 0}
input[type=text],textarea{width:100%;box-sizing:border-box}button{padding:.5rem 1.5rem;font:inherit}`

const digestOf = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

/**
 * Nothing from elsewhere, and no script but this one. The origin of the form is sent, and the address of the page is not.
 */
export const pageHeaders = (script?: string): Readonly<Record<string, string>> => ({
  'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY', 'x-robots-tag': 'noindex',
  'content-security-policy': `default-src 'none'; style-src ${digestOf(STYLE)}; `
    + (script === undefined ? '' : `script-src ${digestOf(script)}; connect-src 'self'; `)
    + `form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'permissions-policy': script === undefined ? 'publickey-credentials-get=(), publickey-credentials-create=()'
    : 'publickey-credentials-get=(self), publickey-credentials-create=(self)',
})

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.codePointAt(0)};`)
export const shown = (text: string): string => escaped(visibleText(text))
export const block = (text: string): string => `<pre>${escaped(visibleText(text, { keepLines: true }))}</pre>`

/** `body` is HTML. */
export const page = (title: string, body: string, script?: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">`
  + `<title>${shown(title)}</title><style>${STYLE}</style><main><h1>${shown(title)}</h1>${body}</main>`
  + `${script === undefined ? '' : `<script>${script}</script>`}</html>`

export const messagePage = (title: string, text: string): string => page(title, `<p>${shown(text)}</p>`)

/** A script of the page fills it. */
export const NOTE = '<p id="note" role="alert"></p>'
