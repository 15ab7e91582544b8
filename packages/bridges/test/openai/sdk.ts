/** For tests in packages that do not depend on it. */
export { OpenAI } from 'openai'
