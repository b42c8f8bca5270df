// What the console writes is beside this file: auth.ts, and the route of Auth.js.
import { auth } from '@/auth'

export const GET = async () => Response.json((await auth())?.user ?? null)
